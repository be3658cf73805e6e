package am

import (
	"context"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sync/errgroup"
)

// MostContexts bounds the contexts of Contexts.
const MostContexts = 1024

// Units of Contexts: round trips of all contexts in a second, and the time of one: median, 99th
// percentile, longest.
const (
	rateUnit    = "trips/s"
	medianUnit  = "p50-ns"
	tailUnit    = "p99-ns"
	longestUnit = "max-ns"
)

// lane is what a goroutine counts, on cache lines of its own.
type lane struct {
	answers int // handlers and conditions alone use it, which never run at the same time
	asked   int // the context's goroutine alone uses it
	_       [120]byte
}

// contexts runs a job for each number of contexts: a rank that has had several never does without
// locks again. There are two series: of ranks bound to a CPU each, and of ranks that the kernel and the
// scheduler of Go place, as aqrun leaves them. The goroutines of the latter may run on all CPUs at once.
func (p *Plan) contexts(ctx context.Context, report func(*bench.Series) error) error {
	if p.Threads == core.Single || p.Modelled() {
		return nil // one goroutine is all there is
	}
	q := p.only(Contexts)
	if q.CPUs != nil {
		if err := p.widths(ctx, q, report); err != nil {
			return err
		}
	}
	q.CPUs = nil
	return p.widths(ctx, q, report)
}

// widths makes the series of q.
func (p *Plan) widths(ctx context.Context, q runner.Plan, report func(*bench.Series) error) error {
	var all *bench.Series
	for _, width := range p.Width {
		if width < 1 || width > MostContexts {
			return fmt.Errorf("am: %d contexts; want 1 to %d", width, MostContexts)
		}
		q.Contexts = width
		err := runner.Launch(ctx, verb, q, 2, func(s *bench.Series) error {
			if all == nil {
				all = s
			} else {
				all.Results = append(all.Results, s.Results...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if all == nil {
		return nil
	}
	return report(all)
}

// measureContexts times round trips of goroutines that each have a context and wait for their own
// reply. One operation is a round trip of any.
func (r *rank) measureContexts() error {
	width, bind := r.Plan.Contexts, spawner.BindCore
	if r.Plan.CPUs == nil {
		bind = spawner.BindNone
	}
	s := &bench.Series{
		Family: "AM", Title: "round trips of short AMs by several contexts of rank 0",
		Params:   r.Params(Contexts, bench.Param{Key: "bind", Value: string(bind)}),
		Quantity: bench.Duration, Axis: bench.Contexts,
	}
	each := max(10, r.Count(pingPongs)/width)
	contexts := []*core.Context{&r.ep.Context}
	for len(contexts) < width {
		contexts = append(contexts, r.ep.NewContext())
	}
	r.told = make([]lane, width)
	took, all := make([][]float64, width), []float64(nil)
	work := func(n int) error {
		var g errgroup.Group
		start := r.Job.Now()
		for i, c := range contexts {
			took[i] = slices.Grow(took[i][:0], n/width)
			g.Go(func() error { return r.trips(c, i, n/width, start, &took[i]) })
		}
		err := g.Wait()
		all = slices.Concat(append(took, all)...)
		return err
	}
	point := bench.Result{Size: 0, Ranks: 2, Contexts: width, Iters: each * width}
	if err := r.Point(s, point, against.For(r.Plan).RoundTrip(0, each*width), work); err != nil {
		return err
	}
	slices.Sort(all)
	for i := range s.Results[0].Samples {
		sample := &s.Results[0].Samples[i]
		if sample.Metrics == nil {
			sample.Metrics = make(map[string]float64)
		}
		sample.Metrics[rateUnit] = 1e9 / sample.Ns
		sample.Metrics[medianUnit] = bench.Quantile(all, 0.5)
		sample.Metrics[tailUnit] = bench.Quantile(all, 0.99)
		sample.Metrics[longestUnit] = all[len(all)-1]
	}
	return runner.Emit(s)
}

// trips makes n round trips by c, context i, and appends the nanoseconds that each took. The first
// begins at start, when the goroutines of all contexts are made: a context that is kept from the CPU
// by others has a long one.
func (r *rank) trips(c *core.Context, i, n int, start core.Time, took *[]float64) error {
	mine, last := &r.told[i], start
	answered := func() bool { return mine.answers >= mine.asked }
	for range n {
		mine.asked++
		if err := c.RequestShort(1, onAsk, uint32(i)); err != nil {
			return err
		}
		if err := c.WaitUntil(answered); err != nil {
			return err
		}
		now := r.Job.Now()
		*took = append(*took, float64(now-last)/1000) // the clock counts picoseconds
		last = now
	}
	return nil
}
