package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
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
//
// Arguments that do not agree make the calls of some members fail or the job end, as far
// as it is noticed; in debug mode it is, with both members' arguments.

// BarrierNB begins a barrier of its own kind, unrelated to Notify and Wait
// (gex_Coll_BarrierNB). Its event is complete when all members have begun it.
func (t *Team) BarrierNB(c *Context) (Event, error) {
	return t.begin(c, coll.Call{Op: coll.Barrier}, nil, nil, nil, 0)
}

// begin checks and starts a call, leaving it to the network if that takes it; kind tells the elements
// and the operator of a reduction.
func (t *Team) begin(c *Context, k coll.Call, dst, src []byte, combine func(dst, src []byte), kind uint32) (Event, error) {
	if err := t.rooted(c, k.Op, k.Root); err != nil {
		return 0, err
	}
	says := engine.Signature{uint32(k.Op), uint32(k.Root), uint32(k.Bytes), kind}
	if says != t.declined && t.leavesToNative(k.Op, kind) {
		if ev, begun, err := t.beginNative(c, &k, dst, src, says); begun || err != nil {
			return ev, err
		}
		t.declined = says
	}
	k.InPlace = inPlace(k.Op, dst, src, t.self*k.Bytes)
	p, err := t.engine.Plan(k, t.ep.forced)
	if err != nil {
		return 0, t.ep.misuse(k.Op.String(), "%v", err)
	}
	return t.start(c, p, dst, src, combine, says)
}

// inPlace reports whether source and destination are the same memory: of what has a block
// for every member, the member's own, which begins at off.
func inPlace(op coll.Op, dst, src []byte, off int) bool {
	switch op {
	case coll.Gather, coll.AllGather:
		dst = dst[min(off, len(dst)):]
	case coll.Scatter:
		src = src[min(off, len(src)):]
	}
	return len(dst) > 0 && len(src) > 0 && unsafe.SliceData(dst) == unsafe.SliceData(src)
}

// rooted checks what all calls have in common.
func (t *Team) rooted(c *Context, op coll.Op, root int) error {
	if t == nil || t.freed || t.ep != c.ep {
		return t.use(c, op.String())
	}
	if uint(root) >= uint(t.Size()) {
		return t.ep.misuse(op.String(), "no member %d in %v", root, t)
	}
	return nil
}

// start carries out a plan.
func (t *Team) start(c *Context, p *engine.Plan, dst, src []byte, combine func(dst, src []byte), says engine.Signature) (Event, error) {
	op, err := c.begin(coll.Op(says[0]).String())
	if err != nil {
		return 0, err
	}
	t.count(op, says)
	op.pending.Add(1)
	if err := c.Exclusively(func() {
		t.outlet.c = c.Context
		t.engine.Begin(p, op, dst, src, combine, says)
	}); err != nil {
		return 0, err
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
