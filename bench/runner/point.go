package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
)

// Work performs n operations.
type Work func(n int) error

// Point measures one point, point.Iters operations at a time, between samples of the
// references, and adds it to the series. When the machine does not hold still for a single
// sample the times are reported without ratios.
func (r *Rank) Point(s *bench.Series, point bench.Result, refs []Ref, work Work) error {
	ctx := context.Background()
	if len(r.Hosts) > 0 {
		refs = slices.DeleteFunc(refs, func(ref Ref) bool { return !ref.Far })
	}
	if r.Alone {
		refs = nil
	}
	started, what, close, err := open(ctx, refs)
	if err != nil {
		return err
	}
	meter := r.Meter(point.Iters, work)
	point.Outcome, err = bench.Interleave(ctx, r.Samples, started, meter)
	if errors.Is(err, bench.ErrDisturbed) {
		uneven := point.Uneven
		point.Outcome, err = bench.Interleave(ctx, r.Samples, nil, meter)
		point.Uneven = uneven
	}
	if err := errors.Join(err, close()); err != nil {
		return err
	}
	s.Results = append(s.Results, point)
	for _, w := range what {
		if !slices.Contains(s.Against, w) {
			s.Against = append(s.Against, w)
		}
	}
	return nil
}

// Meter returns a meter of n operations, after as many to warm up, by the job's clock.
func (r *Rank) Meter(n int, work Work) bench.Meter {
	return func() (float64, error) {
		// Wakes the peers and warms up: after 100 ms of sleep the first 10 ms take longer by
		// half, as do those of the floors, which therefore warm up too.
		if err := work(n); err != nil {
			return 0, err
		}
		return r.time(n, work)
	}
}

// time returns the nanoseconds that each of n operations takes.
func (r *Rank) time(n int, work Work) (float64, error) {
	start := r.Job.Now()
	err := work(n)
	return float64(r.Job.Now()-start) / 1000 / float64(n), err // the clock counts picoseconds
}

// Operations of a calibrated sample: modelled ones are all alike; live ones are so many at
// least that the order at the beginning and the answers at the end do not count.
const (
	modelledOps = 8
	leastOps    = 20
)

// modelledMost bounds the operations of a sample of a model whose plan is alone: a stream of so many is steady.
const modelledMost = 256

// Iters returns how many operations make a sample: the usual number, or, of a plan that is alone, as many as Calibrate finds live. On a
// machine that does other things an operation may take a thousand times as long as usual.
func (r *Rank) Iters(usual int, work Work) (int, error) {
	switch {
	case r.Alone && r.Modelled():
		return min(usual, modelledMost), nil
	case r.Alone:
		return r.Calibrate(work)
	}
	return usual, nil
}

// Calibrate returns how many operations make a sample of the usual length.
func (r *Rank) Calibrate(work Work) (int, error) {
	if r.Modelled() {
		return modelledOps, nil
	}
	want := time.Duration(float64(sampleTime) * r.Weight)
	n, err := bench.Calibrate(want, func(n int) (float64, error) { return r.Meter(n, work)() })
	return max(n, leastOps), err
}
