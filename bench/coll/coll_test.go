package coll_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
)

func TestMain(m *testing.M) {
	coll.RankMain()
	os.Exit(m.Run())
}

func collect(t *testing.T, p runner.Plan, n int) map[string][]*bench.Series {
	t.Helper()
	return runnertest.Collect(t, p, func(report func(*bench.Series) error) error { return coll.Run(t.Context(), p, n, report) })
}

// TestRun measures everything wherever ranks can live, with numbers of ranks that are powers
// of two and not.
func TestRun(t *testing.T) {
	for name, p := range runnertest.Plans() {
		t.Run(name, func(t *testing.T) {
			p.Ops = coll.Ops()
			for _, n := range []int{2, 3} {
				all := collect(t, p, n)
				for _, op := range coll.Ops() {
					if len(all[op]) != 1 {
						t.Fatalf("%d series of %s", len(all[op]), op)
					}
					s, want := all[op][0], len(p.Sizes)
					if op == "barrier" {
						want = 1
					}
					if len(s.Results) != want || s.Results[0].Ranks != n {
						t.Errorf("%s: %d results, the first of %d ranks; want %d, %d", op, len(s.Results), s.Results[0].Ranks, want, n)
					}
				}
			}
		})
	}
}

// TestPeers runs each operation beside the libraries that are installed.
func TestPeers(t *testing.T) {
	p := runnertest.Pinned(t, runnertest.Plans()["processes"])
	p.Ops, p.Sizes, p.Samples = coll.Ops(), []int{64}, 1
	installed := 0
	for _, peer := range coll.Peers(&p) {
		if peer.Missing == "" {
			installed++
		}
	}
	if installed == 0 {
		t.Skip("needs an MPI library: ", coll.Describe(&p))
	}
	all := collect(t, p, 2)
	for _, op := range coll.Ops() {
		for _, peer := range coll.Peers(&p) {
			if measured := runnertest.Against(all[op][0], peer.Unit) != ""; measured != (peer.Missing == "") {
				t.Errorf("%s: %s measured: %v; missing: %q", op, peer.Unit, measured, peer.Missing)
			}
		}
	}
}

// TestBlocks wants points left out whose blocks come to too much.
func TestBlocks(t *testing.T) {
	p := runnertest.Plans()["model"]
	p.Ops, p.Sizes, p.Samples = []string{"alltoall"}, []int{8, coll.MaxBlocks / 8}, 1
	s := collect(t, p, 9)["alltoall"][0]
	if len(s.Results) != 1 || s.Results[0].Size != 8 {
		t.Errorf("results %+v, want one of 8 bytes", s.Results)
	}
}

// TestDescribe wants every peer of a conduit's network named, no other, and what to do about a missing one.
func TestDescribe(t *testing.T) {
	for conduit, want := range map[string]string{"sci": "x-openmpi x-openmpi-nocma x-mpich x-openshmem", "udp": "x-openmpi-tcp"} {
		p := runner.Plan{Conduit: conduit}
		text := coll.Describe(&p)
		var units []string
		for _, peer := range coll.Peers(&p) {
			units = append(units, peer.Unit)
			if !strings.Contains(text, peer.Unit) || peer.Missing != "" && !strings.Contains(text, "apt-get install") {
				t.Errorf("%s is not in %q", peer.Unit, text)
			}
		}
		if got := strings.Join(units, " "); got != want {
			t.Errorf("%s: peers %q, want %q", conduit, got, want)
		}
	}
}

// TestNoLibraries wants peers reported missing where there is no launcher at all.
func TestNoLibraries(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, peer := range mpipeer.Find() {
		if peer.Missing == "" {
			t.Errorf("%s found in an empty PATH", peer.Unit)
		}
	}
}
