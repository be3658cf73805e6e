package pgas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// Heap gives out memory of segments. Every rank has its own value and does its own
// book-keeping: no call communicates, except in debug mode.
//
// A symmetric heap belongs to a team. Its members make the same calls in the same order, and
// so get the same offsets; a pointer to another member's copy is p.On(rank). In debug mode
// every call is collective and checks that.
//
// Each heap has a range of the segment to itself. A rank that would have two heaps in one
// place, by NewHeap of the world and of a smaller team for instance, gets an error: NewHeapIn
// and NewLocalHeap divide a segment.
//
// A heap is not zeroed, and memory that was freed keeps its contents. One goroutine of a rank
// at a time uses it.
type Heap struct {
	ep    *extended.Endpoint
	team  *extended.Team // nil of a local heap
	off   uint64         // of the heap in the segment
	size  uint64
	used  []extent // by offset
	calls uint64
	check bool // that all members do the same

	closed bool
}

// extent is a piece of the heap; off counts in the segment.
type extent struct{ off, size uint64 }

// align is what offsets and sizes of allocations are multiples of: a cache line, so that
// allocations do not share one.
const align = 64

var errNoTeam = errors.New("no team: the caller is not a member of the one that was made")

// NewHeap makes a symmetric heap of what all members of the team have: the smallest of their
// segments. There is room for no other heap then: programs with several use NewHeapIn.
func NewHeap(t *extended.Team) (*Heap, error) {
	size := math.MaxInt
	if t != nil {
		for _, r := range t.Members() {
			size = min(size, t.Endpoint().SegmentSize(r))
		}
	}
	return newHeap("NewHeap", t, 0, size)
}

// NewHeapIn makes a symmetric heap of size bytes at off of every member's segment, for
// programs that have several heaps, or use other parts of the segment otherwise. off is a
// multiple of 64. It is an error if another heap of the caller has a part of the range.
func NewHeapIn(t *extended.Team, off uint64, size int) (*Heap, error) {
	return newHeap("NewHeapIn", t, off, size)
}

func newHeap(call string, t *extended.Team, off uint64, size int) (*Heap, error) {
	if t == nil {
		return nil, fmt.Errorf("pgas: %s: %w", call, errNoTeam)
	}
	ep := t.Endpoint()
	for _, r := range t.Members() {
		if err := fits(call, ep, r, off, size); err != nil {
			return nil, err
		}
	}
	h := &Heap{ep: ep, team: t, off: off, size: uint64(size) &^ (align - 1), check: ep.Core().Job().Config().Debug}
	if err := h.claimRange(call); err != nil {
		return nil, err
	}
	return h, nil
}

// NewLocalHeap makes a heap of size bytes at off of the caller's own segment, for what only
// this rank allocates; others learn of it by the pointers that they are sent. off is a
// multiple of 64. It is an error if another heap of the caller has a part of the range.
func NewLocalHeap(ep *extended.Endpoint, off uint64, size int) (*Heap, error) {
	const call = "NewLocalHeap"
	if err := fits(call, ep, ep.Rank(), off, size); err != nil {
		return nil, err
	}
	h := &Heap{ep: ep, off: off, size: uint64(size) &^ (align - 1)}
	if err := h.claimRange(call); err != nil {
		return nil, err
	}
	return h, nil
}

// fits checks that a heap lies in rank's segment.
func fits(call string, ep *extended.Endpoint, rank core.Rank, off uint64, size int) error {
	have := uint64(ep.SegmentSize(rank))
	switch {
	case off%align != 0:
		return ep.Core().Misuse(call, "a heap at %d, which is not a multiple of %d", off, align)
	case size < 0 || off > have || uint64(size) > have-off:
		return ep.Core().Misuse(call, "%d bytes at %d do not lie in rank %d's segment of %d; raise --segment", size, off, rank, have)
	}
	return nil
}

// Close ends the heap, so that another may have its range. Everything was freed before. It
// does not communicate: what the range is used for next must not reach a member that has
// not closed its own.
func (h *Heap) Close() error {
	if h.closed {
		return h.ep.Core().Misuse("Close", "the heap was closed before")
	}
	if n := len(h.used); n > 0 {
		return h.ep.Core().Misuse("Close", "%d allocations of the heap are in use; free them first", n)
	}
	h.release()
	h.closed, h.size = true, 0 // there is no room in it any more
	return nil
}

// Team returns the team of a symmetric heap, nil of a local one.
func (h *Heap) Team() *extended.Team { return h.team }

// Left returns how many bytes are not allocated; they need not be in one piece.
func (h *Heap) Left() int {
	left := h.size
	for _, u := range h.used {
		left -= u.size
	}
	return int(left)
}

// Alloc allocates n elements and returns a pointer to the first of the caller's own. The
// memory may be used by peers at once. What was freed before may be given out again: nobody
// may use it any more.
func Alloc[T any](c *extended.Context, h *Heap, n int) (Ptr[T], error) {
	if err := checkElement[T](); err != nil {
		return Ptr[T]{}, fmt.Errorf("pgas: rank %d: Alloc: %w", h.ep.Rank(), err)
	}
	if err := h.agree(c, "Alloc", uint64(n), size[T]()); err != nil {
		return Ptr[T]{}, err
	}
	off, err := h.take(n, size[T]())
	if err != nil {
		return Ptr[T]{}, err
	}
	return ptr[T](h.ep.Rank(), off), nil
}

// Free gives back what Alloc returned. No member may use any copy of it any more: where that
// is not known otherwise, have a barrier before.
func Free[T any](c *extended.Context, h *Heap, p Ptr[T]) error {
	if err := h.agree(c, "Free", p.off, 0); err != nil {
		return err
	}
	i, ok := h.find(p.off)
	if !ok || p.Rank() != h.ep.Rank() {
		return h.ep.Core().Misuse("Free", "%v was not allocated from this heap by this rank, or was freed before", p)
	}
	h.used = slices.Delete(h.used, i, i+1)
	return nil
}

// take gives out the first hole that n elements fit in.
func (h *Heap) take(n int, elem uint64) (uint64, error) {
	switch {
	case n < 0:
		return 0, h.ep.Core().Misuse("Alloc", "%d elements", n)
	case h.closed:
		return 0, h.ep.Core().Misuse("Alloc", "the heap was closed")
	}
	want := uint64(math.MaxUint64)
	if uint64(n) <= h.size/elem {
		want = (max(1, uint64(n)*elem) + align - 1) &^ (align - 1)
	}
	at, hole := h.off, uint64(0)
	for i := 0; i <= len(h.used); i++ {
		end := h.off + h.size
		if i < len(h.used) {
			end = h.used[i].off
		}
		if end-at >= want {
			h.used = slices.Insert(h.used, i, extent{at, want})
			return at, nil
		}
		hole = max(hole, end-at)
		if i < len(h.used) {
			at = end + h.used[i].size
		}
	}
	return 0, fmt.Errorf("pgas: rank %d: Alloc: no room for %d elements of %d bytes: the heap of %d bytes has %d left, %d in one piece; raise --segment",
		h.ep.Rank(), n, elem, h.size, h.Left(), hole)
}

// find returns the index of the allocation at off.
func (h *Heap) find(off uint64) (int, bool) {
	return slices.BinarySearchFunc(h.used, off, func(u extent, off uint64) int {
		switch {
		case u.off < off:
			return -1
		case u.off > off:
			return 1
		}
		return 0
	})
}

// agree checks, in debug mode, that all members make the same call on the same heap.
func (h *Heap) agree(c *extended.Context, call string, a, b uint64) error {
	h.calls++
	if !h.check || h.team == nil {
		return nil
	}
	const words = 5
	mine := [words]uint64{uint64(call[0]), h.calls, h.off, a, b}
	var own []byte
	for _, x := range mine {
		own = binary.LittleEndian.AppendUint64(own, x)
	}
	all := make([]byte, len(own)*h.team.Size())
	if err := h.team.AllGather(c, all, own); err != nil {
		return err
	}
	for i, r := range h.team.Members() {
		var his [words]uint64
		for k := range his {
			his[k] = binary.LittleEndian.Uint64(all[i*len(own)+8*k:])
		}
		if his != mine {
			return h.ep.Core().Misuse(call, "the members of %v disagree: this rank makes call %s, rank %d call %s", h.team, callText(mine), r, callText(his))
		}
	}
	return nil
}

// callText describes a call as agree exchanges it.
func callText(w [5]uint64) string {
	if w[0] == 'F' {
		return fmt.Sprintf("%d of the heap at %d, Free of offset %d", w[1], w[2], w[3])
	}
	return fmt.Sprintf("%d of the heap at %d, Alloc of %d elements of %d bytes", w[1], w[2], int64(w[3]), w[4])
}
