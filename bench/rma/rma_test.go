package rma_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
)

func TestMain(m *testing.M) {
	rma.RankMain()
	os.Exit(m.Run())
}

func collect(t *testing.T, p runner.Plan) map[string][]*bench.Series {
	t.Helper()
	return runnertest.Collect(t, p, func(report func(*bench.Series) error) error { return rma.Run(t.Context(), p, report) })
}

// TestRun measures everything wherever ranks can live. The loops that need the peer's memory
// run where it can be reached, and only there.
func TestRun(t *testing.T) {
	for name, p := range runnertest.Plans() {
		t.Run(name, func(t *testing.T) {
			p.Ops = rma.Ops()
			all := collect(t, p)
			for _, op := range rma.Ops() {
				if len(all[op]) != 1 {
					t.Fatalf("%d series of %s", len(all[op]), op)
				}
				s := all[op][0]
				through := "x-copy"
				if op == "fetchadd" {
					through = "x-raw"
				}
				if reached := runnertest.Against(s, through) != ""; reached == p.Modelled() && op != "barrier" {
					t.Errorf("%s is compared with %v", op, s.Against)
				}
				want := p.Sizes
				switch op {
				case "putval", "getval", "fetchadd":
					want = []int{8}
				}
				var sizes []int
				for _, r := range s.Results {
					sizes = append(sizes, r.Size)
				}
				if op != "barrier" && !slices.Equal(sizes, want) {
					t.Errorf("%s: sizes %v, want %v", op, sizes, want)
				}
			}
		})
	}
}

// TestFloors wants each operation compared with its own floor.
func TestFloors(t *testing.T) {
	p := runnertest.Pinned(t, runnertest.Plans()["processes"])
	p.Ops, p.Sizes = rma.Ops(), []int{8}
	if _, err := floor.Build(t.Context()); errors.Is(err, floor.ErrNoCompiler) {
		t.Skip(err)
	}
	all := collect(t, p)
	for op, want := range map[string]map[string]string{
		"put":      {"x-floor": "into", "x-store": "store"},
		"put-nb":   {"x-floor": "into", "x-store": "store"},
		"get":      {"x-floor": "out of", "x-load": "load"},
		"get-nb":   {"x-floor": "out of", "x-load": "load"},
		"putval":   {"x-floor": "into", "x-store": "store"},
		"getval":   {"x-floor": "out of", "x-load": "load"},
		"fetchadd": {"x-floor": "fetch-and-add", "x-raw": "atomic"},
		"barrier":  {"x-floor": "ping-pong"},
	} {
		for unit, part := range want {
			if got := runnertest.Against(all[op][0], unit); !strings.Contains(got, part) {
				t.Errorf("%s: %s is against %q, want %s", op, unit, got, part)
			}
		}
	}
}
