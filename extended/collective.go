package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Collective calls. All members of a team make the same calls in the same order, with
// arguments that agree where they say "on all members". Each call has a form that blocks
// and one that returns an event (NB); many may be under way. Until a call is complete its
// destination is undefined, and its source must not change. Completion says nothing about
// other members, except of Barrier. Buffers may lie anywhere and may be used again in the
// next call at once. A call makes progress in every poll of the rank, whatever that is for.
// None is allowed in a handler.
//
// For the same arguments the same elements are combined in the same order every time, so
// results are reproducible, and equal on all members that get them.

// Reduction says how elements are combined. It is the same on all members.
type Reduction struct {
	Type Type // of the elements, with Op
	Op   Op   // Add, Mult, Min, Max; of integers also And, Or, Xor

	// Func, if not nil, is the operator instead: dst[i] = dst[i] ⊕ src[i] for as many elements
	// of Size bytes as the slices hold. It runs where handlers run: it must not call the
	// library. It must be associative.
	Func func(dst, src []byte)
	Size int
	// Ordered says that Func does not commute: elements are combined in order of rank.
	Ordered bool
}

// operator returns a reduction's element size and function.
func (r *Reduction) operator() (size int, combine func(dst, src []byte), err error) {
	if r.Func != nil {
		return r.Size, r.Func, nil
	}
	combine, err = combiner(r.Type, r.Op)
	return r.Type.Size(), combine, err
}

// BarrierNB begins a barrier of its own kind, unrelated to Notify and Wait
// (gex_Coll_BarrierNB). Its event is complete when all members have begun it.
func (t *Team) BarrierNB(c *Context) (Event, error) {
	return t.begin(c, "Barrier", &coll.Call{Op: coll.Barrier}, nil, nil, nil)
}

// Broadcast copies src of member root to dst of all members. dst has the same length on all
// members, src at the root; elsewhere src is ignored. At the root they may be the same.
func (t *Team) Broadcast(c *Context, root int, dst, src []byte) error {
	return c.finish(t.BroadcastNB(c, root, dst, src))
}

// BroadcastNB is Broadcast with an event.
func (t *Team) BroadcastNB(c *Context, root int, dst, src []byte) (Event, error) {
	k := &coll.Call{Op: coll.Broadcast, Root: root, Bytes: len(dst)}
	if t != nil && t.self == root && len(src) != len(dst) {
		return 0, c.ep.misuse("Broadcast", "the root's source has %d bytes, its destination %d", len(src), len(dst))
	}
	return t.begin(c, "Broadcast", k, dst, src, nil)
}

// Reduce combines the sources of all members, which have equal lengths, into dst of member
// root; elsewhere dst is ignored. At the root they may be the same.
func (t *Team) Reduce(c *Context, root int, dst, src []byte, r Reduction) error {
	return c.finish(t.ReduceNB(c, root, dst, src, r))
}

// ReduceNB is Reduce with an event.
func (t *Team) ReduceNB(c *Context, root int, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, "Reduce", &coll.Call{Op: coll.Reduce, Root: root}, dst, src, &r)
}

// AllReduce combines the sources of all members, which have equal lengths, into dst of
// every member. dst and src may be the same, on all members or on none.
func (t *Team) AllReduce(c *Context, dst, src []byte, r Reduction) error {
	return c.finish(t.AllReduceNB(c, dst, src, r))
}

// AllReduceNB is AllReduce with an event.
func (t *Team) AllReduceNB(c *Context, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, "AllReduce", &coll.Call{Op: coll.AllReduce}, dst, src, &r)
}

// AllGather copies the source of every member, of equal lengths, to dst of every member, in
// order of rank. src may be the member's own block of dst.
func (t *Team) AllGather(c *Context, dst, src []byte) error {
	return c.finish(t.AllGatherNB(c, dst, src))
}

// AllGatherNB is AllGather with an event.
func (t *Team) AllGatherNB(c *Context, dst, src []byte) (Event, error) {
	if t != nil && len(dst) != t.Size()*len(src) {
		return 0, c.ep.misuse("AllGather", "the destination has %d bytes, want %d blocks of %d", len(dst), t.Size(), len(src))
	}
	return t.begin(c, "AllGather", &coll.Call{Op: coll.AllGather, Bytes: len(src)}, dst, src, nil)
}

// reduce begins a reduction.
func (t *Team) reduce(c *Context, call string, k *coll.Call, dst, src []byte, r *Reduction) (Event, error) {
	size, combine, err := r.operator()
	switch {
	case err != nil:
		return 0, c.ep.misuse(call, "%v", err)
	case size <= 0 || len(src)%size != 0:
		return 0, c.ep.misuse(call, "%d bytes are no whole number of elements of %d bytes", len(src), size)
	case t != nil && (k.Op != coll.Reduce || t.self == k.Root) && len(dst) != len(src):
		return 0, c.ep.misuse(call, "the destination has %d bytes, the source %d", len(dst), len(src))
	}
	k.Bytes, k.Elem, k.Commutes = len(src), size, !r.Ordered
	return t.begin(c, call, k, dst, src, combine)
}

// begin checks and starts a call.
func (t *Team) begin(c *Context, call string, k *coll.Call, dst, src []byte, combine func(dst, src []byte)) (Event, error) {
	if err := t.use(c, call); err != nil {
		return 0, err
	}
	if uint(k.Root) >= uint(t.Size()) {
		return 0, t.ep.misuse(call, "no member %d in %v", k.Root, t)
	}
	k.InPlace = len(dst) > 0 && len(src) > 0 && unsafe.SliceData(dst) == unsafe.SliceData(src)
	p, err := t.calls.plans.get(t, k)
	if err != nil {
		return 0, t.ep.misuse(call, "%v", err)
	}
	op, err := c.begin(call)
	if err != nil {
		return 0, err
	}
	says := signature{uint32(k.Op), uint32(k.Root), uint32(k.Bytes)}
	if t.ep.single {
		t.calls.begin(c.Context, p, op, dst, src, combine, says)
	} else {
		t.ep.core.Exclusively(func() { t.calls.begin(c.Context, p, op, dst, src, combine, says) })
	}
	return c.event(op, nil)
}

// finish waits for a call that was begun.
func (c *Context) finish(ev Event, err error) error {
	if err != nil || ev == 0 {
		return err
	}
	return c.Wait(ev)
}
