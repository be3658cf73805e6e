package coll

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// measure is rank 0's part.
func (r *rank) measure() error {
	for _, name := range r.Ops {
		i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
		if i < 0 {
			return fmt.Errorf("coll: unknown operation %q; known: %v", name, Ops())
		}
		if err := r.measureOp(i); err != nil {
			return fmt.Errorf("coll: %s: %w", name, err)
		}
	}
	return nil
}

// measureOp measures an operation at every size it has, and emits its series.
func (r *rank) measureOp(i int) error {
	op := &operations[i]
	s := &bench.Series{Family: "Coll", Title: op.title, Params: r.Params(op.name), Quantity: bench.Duration}
	if op.kind == unsized {
		s.Axis = bench.Ranks
	}
	for _, size := range op.sizes(r.Sizes, r.Job.Size()) {
		work := func(n int) error { return r.Together(uint32(i), uint32(size), uint32(n)) }
		n, err := r.Calibrate(work)
		if err != nil {
			return err
		}
		if err := r.Point(s, bench.Result{Size: size, Ranks: r.Job.Size(), Iters: n}, r.refs(op, size, n), work); err != nil {
			return err
		}
	}
	return runner.Emit(s)
}

// refs returns what an operation is compared with: the placement where every rank has a
// CPU of its own, for the barrier a floor, and the peers.
func (r *rank) refs(op *operation, size, iters int) []runner.Ref {
	n := r.Job.Size()
	cpus := r.Spread(n)
	if cpus == nil {
		return nil
	}
	var refs []runner.Ref
	if n > 1 && n <= len(r.CPUs) {
		refs = append(refs, runner.Placement(r.Pair()))
	}
	if op.name == "barrier" {
		refs = append(refs, against.For(r.Plan).Barrier(n, iters)...)
	}
	crowded := n > len(r.CPUs)
	for _, p := range Peers(r.Plan) {
		if p.Missing == "" {
			refs = append(refs, p.On(r.Hosts, n).Ref(op.name, size, cpus, crowded))
		}
	}
	return refs
}
