package rma

import (
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// barrier times barriers of two ranks. One takes at least a flag in each direction, which
// may cross; the floor's go one after the other.
func (r *rank) barrier(name string) error {
	work := func(n int) error { return r.Together(uint32(n)) }
	n, err := r.Calibrate(work)
	if err != nil {
		return err
	}
	s := &bench.Series{Family: "RMA", Title: "barrier of two ranks", Params: r.Params(name), Quantity: bench.Duration, Axis: bench.Ranks}
	if err := r.Point(s, bench.Result{Ranks: 2, Iters: n}, against.For(r.Plan).PairBarrier(n), work); err != nil {
		return err
	}
	return runner.Emit(s)
}

// barriers carries out an order: so many barriers.
func (r *rank) barriers(order []uint32) error {
	for range order[0] {
		if err := r.ep.World().Barrier(&r.ep.Context); err != nil {
			return err
		}
	}
	return nil
}
