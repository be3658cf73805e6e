package tune

import (
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// measure is rank 0's part.
func (r *rank) measure() error {
	for _, name := range r.Ops {
		i := slices.Index(Ops(), name)
		if i < 0 {
			return fmt.Errorf("tune: unknown operation %q; known: %v", name, Ops())
		}
		if err := r.measureOp(coll.Op(i)); err != nil {
			return fmt.Errorf("tune: %s: %w", name, err)
		}
	}
	return nil
}

// measureOp measures an operation at every size and emits a series for each choice.
func (r *rank) measureOp(op coll.Op) error {
	var tried []coll.Choice
	series := make(map[coll.Choice]*bench.Series)
	for _, size := range r.sizes(op) {
		all, err := r.race(op, size)
		if err != nil {
			return err
		}
		for _, e := range all {
			s := series[e.choice]
			if s == nil {
				s = r.series(op, e.choice)
				series[e.choice], tried = s, append(tried, e.choice)
			}
			s.Results = append(s.Results, bench.Result{
				Size: size, Ranks: r.team.Size(), Iters: e.iters,
				Outcome: bench.Outcome{Samples: e.samples, Placement: bench.Unknown},
			})
		}
	}
	for _, choice := range tried {
		if err := runner.Emit(series[choice]); err != nil {
			return err
		}
	}
	return nil
}

// series returns the empty series of a choice.
func (r *rank) series(op coll.Op, choice coll.Choice) *bench.Series {
	s := &bench.Series{
		Family: "Tune", Title: fmt.Sprintf("%v by %v", op, choice), Quantity: bench.Duration,
		Params: r.Params(nameOf(op), bench.Param{Key: keyAlgorithm, Value: choice.String()}, bench.Param{Key: keyTeams, Value: r.team.Kind().String()}),
	}
	if op == coll.Barrier {
		s.Axis = bench.Ranks
	}
	return s
}

// entrant is a choice in a race.
type entrant struct {
	choice  coll.Choice
	iters   int // operations of a sample
	meter   bench.Meter
	samples []bench.Sample
	best    float64 // nanoseconds of the fastest sample
}

// A choice whose fastest sample took more than hopeless times the fastest of all after
// fair rounds is given up: what disturbs a sample only makes it longer.
const (
	hopeless = 2
	fair     = 2
)

// race measures all choices for a call in turn, so that whatever the machine does meanwhile
// happens to all.
func (r *rank) race(op coll.Op, size int) ([]*entrant, error) {
	var all []*entrant
	for _, choice := range r.team.Choices(op, size, Element) {
		work := func(n int) error { return r.Together(order(op, size, choice, n)...) }
		n, err := r.Calibrate(work)
		if err != nil {
			return nil, err
		}
		all = append(all, &entrant{choice: choice, iters: n, meter: r.Meter(n, work), best: math.Inf(1)})
	}
	running := slices.Clone(all)
	for round := 1; round <= r.Samples; round++ {
		least := math.Inf(1)
		for _, e := range running {
			ns, err := e.meter()
			if err != nil {
				return nil, err
			}
			e.samples = append(e.samples, bench.Sample{Ns: ns, Placement: bench.Unknown})
			e.best = min(e.best, ns)
			least = min(least, e.best)
		}
		if round >= fair && round < r.Samples {
			running = slices.DeleteFunc(running, func(e *entrant) bool { return e.best > hopeless*least })
		}
	}
	return all, nil
}
