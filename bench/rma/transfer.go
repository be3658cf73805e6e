package rma

import (
	"encoding/binary"
	"runtime"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/extended"
)

// window is how many operations with events are under way at once.
const window = 64

// peer is the rank whose segment puts go to and gets come from.
const peer = 1

// word is the size that a plain store or load moves.
const word = 8

// transfer returns what measures an operation at every size. run performs n operations; refs
// and, where the peer's memory is in reach, loops are what they are compared with, n at a time.
func transfer(title string, quantity bench.Quantity, run func(r *rank, size, n int) error, refs func(to against.References, size, n int) []runner.Ref, loops func(r *rank, size, n int) []runner.Ref) func(*rank, string) error {
	return func(r *rank, name string) error {
		s := &bench.Series{Family: "RMA", Title: title, Quantity: quantity, Params: r.Params(name)}
		for _, size := range r.Sizes {
			if size > min(len(r.private), r.ep.SegmentSize(peer)) {
				continue
			}
			work := func(n int) error { return run(r, size, n) }
			n, err := r.Calibrate(work)
			if err != nil {
				return err
			}
			with := append(refs(against.For(r.Plan), size, n), loops(r, size, n)...)
			if err := r.Point(s, bench.Result{Size: size, Ranks: 2, Iters: n}, with, work); err != nil {
				return err
			}
		}
		return runner.Emit(s)
	}
}

func (r *rank) put(size, n int) error {
	for range n {
		if err := r.ep.Put(peer, 0, r.private[:size]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) get(size, n int) error {
	for range n {
		if err := r.ep.Get(r.private[:size], peer, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) putNB(size, n int) error {
	var events [window]extended.Event
	for i := range n {
		if i%window == 0 {
			if err := r.ep.WaitAll(events[:]); err != nil {
				return err
			}
		}
		var err error
		if events[i%window], err = r.ep.PutNB(peer, 0, r.private[:size], extended.LCDefer); err != nil {
			return err
		}
	}
	return r.ep.WaitAll(events[:])
}

func (r *rank) getNB(size, n int) error {
	var events [window]extended.Event
	for i := range n {
		if i%window == 0 {
			if err := r.ep.WaitAll(events[:]); err != nil {
				return err
			}
		}
		var err error
		if events[i%window], err = r.ep.GetNB(r.private[:size], peer, 0); err != nil {
			return err
		}
	}
	return r.ep.WaitAll(events[:])
}

// storeLoops are what a put is compared with where the peer's memory is in reach.
func (r *rank) storeLoops(size, n int) []runner.Ref {
	if r.near == nil {
		return nil
	}
	to, from := r.near[:size], r.private[:size]
	refs := []runner.Ref{r.copyLoop(to, from, n)}
	if size == word {
		refs = append(refs, r.Loop("x-store", "Go store of a word through the same mapping", n, func(n int) {
			for i := range n {
				binary.NativeEndian.PutUint64(to, uint64(i))
			}
		}))
	}
	return refs
}

// loadLoops are what a get is compared with where the peer's memory is in reach.
func (r *rank) loadLoops(size, n int) []runner.Ref {
	if r.near == nil {
		return nil
	}
	from, to := r.near[:size], r.private[:size]
	refs := []runner.Ref{r.copyLoop(to, from, n)}
	if size == word {
		refs = append(refs, r.Loop("x-load", "Go load of a word through the same mapping", n, func(n int) {
			var sum uint64
			for range n {
				sum += binary.NativeEndian.Uint64(from)
			}
			runtime.KeepAlive(sum) // or the compiler could leave the loads out
		}))
	}
	return refs
}

// copyLoop returns the reference that copies in a loop of this process.
func (r *rank) copyLoop(to, from []byte, n int) runner.Ref {
	return r.Loop("x-copy", "Go copy through the same mapping", n, func(n int) {
		for range n {
			copy(to, from)
		}
	})
}
