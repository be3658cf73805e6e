package sim

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
)

// Schedule is a collective call that is run on a cost model.
type Schedule struct {
	Call    coll.Call // as for cost.On
	Choice  coll.Choice
	Profile cost.Profile
	Ranks   []int
	InOrder bool // see cost.Simulation
}

// Run runs the schedule for each number of ranks, once, and returns a series of the modelled
// times. Further units are the messages of a call, those simulated in a second of the host,
// its time, and the bytes per rank that were allocated in all, also those given back on the way.
func (s *Schedule) Run() (*bench.Series, error) {
	series := &bench.Series{
		Family: "Schedule", Title: fmt.Sprintf("a call of %d bytes by its schedule on a cost model", s.Call.Bytes), Quantity: bench.Duration, Axis: bench.Ranks,
		Params: []bench.Param{{Key: "op", Value: strings.ToLower(s.Call.Op.String())}, {Key: "algorithm", Value: s.Choice.String()}},
	}
	for _, n := range s.Ranks {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		run := &cost.Simulation{Ranks: n, Schedules: cost.Collective(cost.On(s.Profile, s.Call, n), s.Choice), Model: s.Profile.Model(n), InOrder: s.InOrder}
		r, err := run.Run()
		if err != nil {
			return nil, err
		}
		took := time.Since(start).Seconds()
		runtime.ReadMemStats(&after)
		series.Results = append(series.Results, bench.Result{Size: s.Call.Bytes, Ranks: n, Iters: 1, Outcome: bench.Outcome{Samples: []bench.Sample{{
			Ns: float64(r.End) / 1000,
			Metrics: map[string]float64{
				"messages": float64(r.Messages), "messages/s": float64(r.Messages) / took, "host-s": took,
				"B/rank": float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
			},
			Placement: bench.Unknown,
		}}}})
	}
	return series, nil
}
