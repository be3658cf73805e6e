package am_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
	"github.com/aqueduct-go/aqueduct/core"
)

func TestMain(m *testing.M) {
	am.RankMain()
	os.Exit(m.Run())
}

func collect(t *testing.T, p am.Plan) map[string][]*bench.Series {
	t.Helper()
	return runnertest.Collect(t, p.Plan, func(report func(*bench.Series) error) error {
		return am.Run(t.Context(), p, report)
	})
}

// TestRun measures everything wherever ranks can live.
func TestRun(t *testing.T) {
	for name, plan := range runnertest.Plans() {
		t.Run(name, func(t *testing.T) {
			p := am.Plan{Plan: plan, Ranks: []int{1, 3}, N: 5, Width: []int{1, 3}}
			p.Threads = core.Many
			p.Ops = am.Ops()
			if p.Modelled() {
				p.Ops = slices.DeleteFunc(p.Ops, func(op string) bool { return op == am.Startup || op == am.Contexts })
			}
			all := collect(t, p)
			for op, want := range map[string]int{am.PingPong: 3, am.Flood: 1, am.Stream: 2, am.Bandwidth: 1, am.LogGP: 1, am.Poll: 1, am.Startup: 1, am.Exchange: 1, am.Contexts: 1} {
				if !slices.Contains(p.Ops, op) {
					want = 0
				}
				if len(all[op]) != want {
					t.Errorf("%d series of %s, want %d", len(all[op]), op, want)
				}
			}
			for op, want := range map[string][]int{am.Poll: p.Ranks, am.Startup: p.Ranks, am.Exchange: {p.N}} {
				for _, s := range all[op] {
					if got := ranks(s); !slices.Equal(got, want) {
						t.Errorf("%s at %v ranks, want %v", op, got, want)
					}
				}
			}
			for _, sample := range all[am.Exchange][0].Results[0].Samples {
				if per := sample.Metrics["ns/message"]; per*float64(2*(p.N-1)) != sample.Ns {
					t.Errorf("%v ns for each message of an exchange of %v ns", per, sample.Ns)
				}
			}
			checkStartup(t, all[am.Startup])
			checkContexts(t, all[am.Contexts], p.Width)
		})
	}
}

func ranks(s *bench.Series) []int {
	var n []int
	for _, r := range s.Results {
		n = append(n, r.Ranks)
	}
	return n
}

// checkContexts wants a result for each number of contexts, with the rate and the quantiles.
func checkContexts(t *testing.T, all []*bench.Series, width []int) {
	t.Helper()
	for _, s := range all {
		var got []int
		for _, r := range s.Results {
			got = append(got, r.Contexts)
			for _, sample := range r.Samples {
				m := sample.Metrics
				if per := 1e9 / sample.Ns; m["trips/s"] != per || !(m["p50-ns"] > 0 && m["p99-ns"] >= m["p50-ns"]) {
					t.Errorf("%d contexts: %v, want %v trips/s", r.Contexts, m, per)
				}
			}
		}
		if !slices.Equal(got, width) {
			t.Errorf("results for %v contexts, want %v", got, width)
		}
	}
}

// checkStartup demands that a job ends after its ranks have attached.
func checkStartup(t *testing.T, all []*bench.Series) {
	t.Helper()
	for _, s := range all {
		for _, r := range s.Results {
			for _, sample := range r.Samples {
				if end := sample.Metrics["end-ns"]; !(sample.Ns > 0 && end >= sample.Ns) {
					t.Errorf("%d ranks: attached after %v ns, ended after %v", r.Ranks, sample.Ns, end)
				}
			}
		}
	}
}

// TestStartPeers wants the start of a job compared with that of each MPI library that is installed.
func TestStartPeers(t *testing.T) {
	_, what, err := mpipeer.Starts(t.Context(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(what) == 0 {
		t.Skip("needs an MPI library")
	}
	p := am.Plan{Plan: runnertest.Plans()["processes"], Ranks: []int{2}, Peers: true}
	p.Ops = []string{am.Startup}
	all := collect(t, p)
	checkStartup(t, all[am.Startup])
	for _, s := range all[am.Startup] {
		for _, w := range what {
			if got := runnertest.Against(s, w.Key); got != w.Value {
				t.Errorf("%s is against %q, want %q", w.Key, got, w.Value)
			}
		}
	}
}

// TestFloors wants each operation compared with its own floor.
func TestFloors(t *testing.T) {
	p := am.Plan{Plan: runnertest.Pinned(t, runnertest.Plans()["processes"]), N: 4}
	p.Ops, p.Sizes = []string{am.PingPong, am.Flood, am.Stream, am.Bandwidth, am.Exchange}, []int{8}
	if _, err := floor.Build(t.Context()); errors.Is(err, floor.ErrNoCompiler) {
		t.Skip(err)
	}
	all := collect(t, p)
	for op, want := range map[string][]string{
		am.PingPong:  {"flag ping-pong", "echo", "echo"}, // short, medium, long
		am.Flood:     {"ring"},
		am.Stream:    {"copy in and copy out", "copy in and copy out"},
		am.Bandwidth: {"memcpy into a mapping"},
		am.Exchange:  {"barrier"},
	} {
		for i, s := range all[op] {
			if got := runnertest.Against(s, "x-floor"); !strings.Contains(got, want[i]) {
				t.Errorf("%s %v: x-floor is against %q, want %s", op, s.Params, got, want[i])
			}
		}
	}
	if runnertest.Against(all[am.PingPong][0], "x-handoff") == "" {
		t.Error("short round trip not compared with the handoff")
	}
}

// TestModelRepeats wants the same report from the same modelled run.
func TestModelRepeats(t *testing.T) {
	p := am.Plan{Plan: runnertest.Plans()["model"], N: 6}
	p.Ops = []string{am.PingPong, am.Stream, am.Exchange}
	if diff := cmp.Diff(collect(t, p), collect(t, p)); diff != "" {
		t.Error(diff)
	}
}

// TestPaperProfile runs the other profile of sci, whose limits leave out large mediums.
func TestPaperProfile(t *testing.T) {
	p := am.Plan{Plan: runnertest.Plans()["processes"]}
	p.Profile, p.Ops = "paper", []string{am.PingPong}
	all := collect(t, p)[am.PingPong]
	for i, want := range [][]int{{0}, {8}, {8, 4096}} {
		var sizes []int
		for _, r := range all[i].Results {
			sizes = append(sizes, r.Size)
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("%v: sizes %v, want %v", all[i].Params, sizes, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		spoil func(*am.Plan)
		want  string
	}{
		{func(p *am.Plan) { p.Ops = []string{"fly"} }, `unknown operation "fly"`},
		{func(p *am.Plan) { p.Samples = 0 }, "status 1"},
		{func(p *am.Plan) { p.Conduit = "fly" }, "status 1"},
		{func(p *am.Plan) { p.Ops, p.N = []string{am.Exchange}, 1 }, "1 ranks"},
		{func(p *am.Plan) { p.Ops, p.Ranks = []string{am.Poll}, []int{0} }, "0 ranks"},
		{func(p *am.Plan) { p.Ops, p.Threads, p.Width = []string{am.Contexts}, core.Many, []int{0} }, "0 contexts"},
	} {
		p := am.Plan{Plan: runnertest.Plans()["goroutines"]}
		p.Ops = []string{am.Flood}
		c.spoil(&p)
		err := am.Run(t.Context(), p, func(*bench.Series) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestLogGP compares what is measured with the parameters of modelled loopback, which has a latency, a time for each byte, and processors that take
// no time but for polls.
func TestLogGP(t *testing.T) {
	for _, c := range []struct {
		latency, rate string
		l, g          float64
	}{{"1us", "1e9", 1000, 1}, {"20us", "4e9", 20000, 0.25}} {
		p := am.Plan{Plan: runnertest.Plans()["model"]}
		p.Ops, p.Weight, p.Samples = []string{am.LogGP}, 0.1, 1
		p.Settings = map[string]string{"latency": c.latency, "rate": c.rate}
		got := collect(t, p)[am.LogGP][0].Results[0].Samples[0].Metrics
		if l, g := got["L-ns"], got["G-ns/B"]; math.Abs(l-c.l) > 0.05*c.l || math.Abs(g-c.g) > 0.05*c.g {
			t.Errorf("latency %s, rate %s: %v", c.latency, c.rate, got)
		}
	}
}
