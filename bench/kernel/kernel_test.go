package kernel_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
)

func TestMain(m *testing.M) {
	kernel.RankMain()
	os.Exit(m.Run())
}

func collect(t *testing.T, p runner.Plan, ranks int) map[string][]*bench.Series {
	t.Helper()
	return runnertest.Collect(t, p, func(report func(*bench.Series) error) error { return kernel.Run(t.Context(), p, ranks, report) })
}

// TestRun measures everything wherever ranks can live, also by a rank alone. The ranks check what they have computed.
func TestRun(t *testing.T) {
	for name, p := range runnertest.Plans() {
		t.Run(name, func(t *testing.T) {
			p.Ops = kernel.Ops()
			for _, ranks := range []int{1, 3} {
				all := collect(t, p, ranks)
				for _, op := range kernel.Ops() {
					if len(all[op]) != 1 || len(all[op][0].Results) != 1 || all[op][0].Results[0].Ranks != ranks {
						t.Fatalf("%s of %d ranks: %+v", op, ranks, all[op])
					}
				}
				if f := all[kernel.Gups][0].Figures(&all[kernel.Gups][0].Results[0]); f[0].Kind != bench.Throughput {
					t.Errorf("updates are told as %v, want a rate", f)
				}
			}
		})
	}
}

// TestPeers wants both compared with the libraries of other projects that are installed.
func TestPeers(t *testing.T) {
	p := runnertest.Pinned(t, runnertest.Plans()["processes"])
	p.Ops, p.Samples = kernel.Ops(), 1
	all := collect(t, p, 2)
	for _, op := range kernel.Ops() {
		for _, peer := range coll.Peers(&p) {
			if measured := runnertest.Against(all[op][0], peer.Unit) != ""; measured != (peer.Missing == "") {
				t.Errorf("%s: %s measured: %v; missing: %q", op, peer.Unit, measured, peer.Missing)
			}
		}
	}
}
