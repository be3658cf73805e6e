package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/sim"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
)

// TestRun measures a little of everything.
func TestRun(t *testing.T) {
	var ops []string
	p := sim.Plan{Ops: sim.Ops(), Ranks: []int{2, 5}, Stack: []int{2, 3}, Samples: 2, Messages: 100}
	err := sim.Run(t.Context(), p, func(s *bench.Series) error {
		ops = append(ops, s.Params[0].Value)
		for i, want := range []int{2, p.Ranks[1]} {
			if op := s.Params[0].Value; slices.Index(sim.Ops(), op) >= slices.Index(sim.Ops(), sim.Stack) {
				want = p.Stack[i]
			}
			r := &s.Results[i]
			events := r.Values("events/s")
			if r.Ranks != want || len(r.Samples) != 2 || len(events) != 2 || !(slices.Min(r.Values(bench.NsPerOp)) > 0) || !(slices.Min(events) > 0) {
				t.Errorf("%s: %+v, want %d ranks", s.Params[0].Value, r, want)
			}
		}
		return nil
	})
	if err != nil || !slices.Equal(ops, sim.Ops()) {
		t.Errorf("%v, %v; want %v", ops, err, sim.Ops())
	}
	p.Ops = []string{"fly"}
	if err := sim.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "unknown operation") {
		t.Errorf("error %v", err)
	}
}

// TestSchedule wants the modelled time and the messages of a barrier.
func TestSchedule(t *testing.T) {
	algorithm := coll.Algorithms(coll.Barrier)[0]
	s := sim.Schedule{
		Call: coll.Call{Op: coll.Barrier}, Choice: coll.Choice{Algorithm: algorithm, K: 2},
		Profile: cost.LogGP{Latency: 1000, SendOverhead: 500}, Ranks: []int{1, 1024},
	}
	series, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ ns, messages float64 }{{0, 0}, {15, 10240}} {
		if x := series.Results[i].Samples[0]; x.Ns != want.ns || x.Metrics["messages"] != want.messages {
			t.Errorf("%+v, want %+v", x, want)
		}
	}
}
