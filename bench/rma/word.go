package rma

import (
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// onWord returns what measures an operation on one word of the peer's segment.
func onWord(title string, run func(r *rank, n int) error, refs func(r *rank, n int) []runner.Ref) func(*rank, string) error {
	return func(r *rank, name string) error {
		s := &bench.Series{Family: "RMA", Title: title, Quantity: bench.Duration, Params: r.Params(name)}
		work := func(n int) error { return run(r, n) }
		n, err := r.Calibrate(work)
		if err != nil {
			return err
		}
		if err := r.Point(s, bench.Result{Size: word, Ranks: 2, Iters: n}, refs(r, n), work); err != nil {
			return err
		}
		return runner.Emit(s)
	}
}

func (r *rank) putValue(n int) error {
	for i := range n {
		if err := r.ep.PutValue(peer, 0, uint64(i), word); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) getValue(n int) error {
	for range n {
		if _, err := r.ep.GetValue(peer, 0, word); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) putValueRefs(n int) []runner.Ref {
	return append(against.For(r.Plan).Put(word, n), r.storeLoops(word, n)...)
}

func (r *rank) getValueRefs(n int) []runner.Ref {
	return append(against.For(r.Plan).Get(word, n), r.loadLoops(word, n)...)
}

// counter is the offset in the peer's segment of the element that is added to, in a line
// of its own.
const counter = 128

func (r *rank) fetchAdd(n int) error {
	for range n {
		if _, err := r.counters.FetchAdd(&r.ep.Context, peer, counter, 1); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) fetchAddRefs(n int) []runner.Ref {
	refs := against.For(r.Plan).FetchAdd(n)
	if r.near != nil {
		refs = append(refs, r.Loop("x-raw", "Go atomic.AddInt64 on the same element through the same mapping", n, func(n int) {
			addLoop(r.near[counter:], n)
		}))
	}
	return refs
}
