package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// natives are the bytes of the largest operations that the network carries out itself, without
// the target's handlers, and of buffers of collective ones; 0: it has none.
type natives struct{ put, get, collective int }

// counter returns what counts the parts of an operation that the network carries out: where
// they are waited for, so that of a member its group, since members end by messages alone.
func (op *operation) counter() *core.Completion {
	if op.group != nil {
		op = op.group
	}
	return &op.native
}

// putNative has the network put src, or as many bytes from its beginning as it takes, and
// returns their number. For LCNow it waits until they have been read.
func (c *Context) putNative(op *operation, dst core.Rank, off uint64, src []byte, lc LocalCompletion) (n int, err error) {
	var local *core.Completion
	switch lc {
	case LCNow:
		local = &c.lent
	case LCLeaf:
		local = &op.local
	}
	for n < len(src) {
		part := src[n:min(len(src), n+c.ep.native.put)]
		r, err := c.PutNative(dst, off+uint64(n), part, local, op.counter())
		if err != nil {
			return n, err
		}
		if r == core.Declined {
			break
		}
		n += len(part)
	}
	if c.lent.Pending() > 0 {
		err = c.WaitLocal(&c.lent)
	}
	return n, err
}

// getNative has the network get dst, or as many bytes of its beginning as it takes, and
// returns their number.
func (c *Context) getNative(op *operation, dst []byte, src core.Rank, off uint64) (n int, err error) {
	for n < len(dst) {
		part := dst[n:min(len(dst), n+c.ep.native.get)]
		r, err := c.GetNative(part, src, off+uint64(n), op.counter())
		if err != nil {
			return n, err
		}
		if r == core.Declined {
			break
		}
		n += len(part)
	}
	return n, nil
}

// nativeOf returns what a network calls an operation, or false for one that none carries out.
func nativeOf(op coll.Op) (core.CollectiveOp, bool) {
	switch op {
	case coll.Barrier:
		return core.CollectiveBarrier, true
	case coll.Broadcast:
		return core.CollectiveBroadcast, true
	case coll.Reduce:
		return core.CollectiveReduce, true
	case coll.AllReduce:
		return core.CollectiveAllReduce, true
	case coll.AllGather:
		return core.CollectiveAllGather, true
	case coll.AllToAll:
		return core.CollectiveAllToAll, true
	}
	return 0, false
}

// leavesToNative reports whether the network is asked for a call before the algorithms are: the same
// for all members. It is not where an algorithm was asked for, and in debug mode, where members tell
// each other their arguments. A network knows one team, all ranks, whose members make all their
// calls in the same order; that some of them are carried out by algorithms, which know the calls by
// number, changes nothing in the order of the others.
func (t *Team) leavesToNative(op coll.Op, kind uint32) bool {
	if t.ep.native.collective == 0 || t.id != worldID || t.Size() == 1 || t.ep.debug || kind >= userKind {
		return false
	}
	_, forced := t.ep.forced[op]
	_, known := nativeOf(op)
	return known && !forced
}

// beginNative begins a call, unless the network declines it.
func (t *Team) beginNative(c *Context, k *coll.Call, dst, src []byte, says engine.Signature) (ev Event, begun bool, err error) {
	op, err := c.begin(k.Op.String())
	if err != nil {
		return 0, false, err
	}
	x := core.Collective{Root: t.members.At(k.Root), Dst: dst, Src: src, Done: &op.native}
	x.Op, _ = nativeOf(k.Op)
	switch {
	case k.Op == coll.Broadcast && t.self != k.Root:
		x.Src = nil
	case k.Op == coll.Reduce && t.self != k.Root:
		x.Dst = nil
	}
	if kind := says[3]; kind != 0 {
		typ, combine := typed(kind)
		x.Type, x.Combine = core.ElementType(typ), core.AtomicOp(combine)
	}
	r, err := c.CollectiveNative(x)
	switch {
	case err != nil:
		return 0, false, err
	case r == core.Declined:
		op.pending.Store(0)
		c.ep.ops.release(op)
		return 0, false, nil
	}
	t.count(op, says)
	ev, err = c.event(op, nil)
	return ev, true, err
}
