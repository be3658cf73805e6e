package runner

import (
	"context"
	"errors"
	"io"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
)

// Ref is something that a point of a series is compared with, in the same run.
type Ref struct {
	Unit   string // of the ratio: "x-floor", "x-<peer>"; "" if it only tells the placement
	What   string // what the ratio is to, for people
	Places bool   // see bench.Reference
	Peer   bool   // see bench.Reference
	Far    bool   // it is on the plan's hosts; others are this host's, and count for nothing where there are any
	// Open starts it. The meter is nil where there is no such thing.
	Open func(ctx context.Context) (bench.Meter, io.Closer, error)
}

// Floor returns the floor of a kind on the given CPUs; there is none without CPUs, without a
// C compiler, or where the kernel lacks what it measures. A sample takes iters operations.
func Floor(unit, what string, iters int, kind floor.Kind, cpus []int, args ...int) Ref {
	return Ref{Unit: unit, What: what, Open: func(ctx context.Context) (bench.Meter, io.Closer, error) {
		if len(cpus) == 0 {
			return nil, nil, nil
		}
		f, err := floor.Start(ctx, kind, cpus, args...)
		switch {
		case errors.Is(err, floor.ErrNoCompiler), errors.Is(err, floor.ErrUnsupported):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
		return f.Meter(iters), f, nil
	}}
}

// Placement returns the reference that tells the placement of two CPUs, without a ratio.
func Placement(cpus []int) Ref {
	ref := Floor("", "", pingPongs, floor.PingPong, cpus)
	ref.Places = true
	return ref
}

// pingPongs are the round trips that tell a placement.
const pingPongs = 20_000

// Loop returns a reference that runs in the calling rank: n operations by run.
func (r *Rank) Loop(unit, what string, n int, run func(n int)) Ref {
	return Ref{Unit: unit, What: what, Open: func(context.Context) (bench.Meter, io.Closer, error) {
		return r.Meter(n, func(n int) error { run(n); return nil }), nil, nil
	}}
}

// open starts the references that there are. What says what their ratios are to.
func open(ctx context.Context, refs []Ref) (started []bench.Reference, what []bench.Param, close func() error, err error) {
	var closers []io.Closer
	close = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for _, ref := range refs {
		meter, c, err := ref.Open(ctx)
		if err != nil {
			return nil, nil, nil, errors.Join(err, close())
		}
		if c != nil {
			closers = append(closers, c)
		}
		if meter == nil {
			continue
		}
		started = append(started, bench.Reference{Unit: ref.Unit, Meter: meter, Places: ref.Places, Peer: ref.Peer})
		if ref.Unit != "" {
			what = append(what, bench.Param{Key: ref.Unit, Value: ref.What})
		}
	}
	return started, what, close, nil
}
