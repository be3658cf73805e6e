package sci

import (
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// outRing is the sending end of a ring in a peer's memory. Reserve alone changes it.
type outRing struct {
	cmd     *sisci.RemoteMap // the command segment that holds the ring
	ring    int              // offset of its slots
	payload int              // offset of its payload ring
	credit  *uint32          // in local memory: the slots the peer has consumed

	head    uint32 // the next slot to fill
	room    uint32 // head may not reach it
	seen    uint32 // the credit that room follows from
	pay     uint32 // payload bytes taken so far
	payRoom uint32 // pay may not pass it

	// waits is set while a request waits for room: 1<<32 | the credit seen. The sleeper
	// compares it with the credit.
	waits  atomic.Uint64
	payEnd [depth]uint32 // pay after each slot's message
}

// Reserve implements core.Conduit.
func (c *live) Reserve(op *core.Op) core.Result {
	p := c.byRank[op.Dst]
	r := &p.out[requests]
	if op.Hdr.Reply() {
		r = &p.out[replies]
	}
	if r.head == r.room && !c.refresh(p, r) {
		return core.NoRoom
	}
	at := r.head & (depth - 1)
	s := (*slot)(r.cmd.Ptr(r.ring + int(at)<<slotShift))
	op.Slot = uint64(r.head)
	op.Data = nil
	switch op.Hdr.Kind() {
	case core.Medium:
		if first := inlineAt(op.Hdr.NArgs()); op.Len <= slotSize-first {
			op.Slot |= flagInline << 32
			op.Data = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), first)), op.Len)
		} else if !c.takePayload(p, r, s, op) {
			return core.NoRoom
		}
	case core.Long:
		s.aux = op.Off
		op.Data = c.longWindow(p.remote, op.Off, op.Len)
	}
	op.Args = &s.args
	r.payEnd[at] = r.pay
	r.head++
	return core.Reserved
}

// takePayload finds room for a Medium in the payload ring, contiguous, and notes it in the
// slot.
func (c *live) takePayload(p *livePeer, r *outRing, s *slot, op *core.Op) bool {
	size := uint32(op.Len+payloadUnit-1) &^ (payloadUnit - 1)
	pos := r.pay % payloadRing
	take := size
	if pos+size > payloadRing {
		take += payloadRing - pos
		pos = 0
	}
	for int32(r.payRoom-r.pay) < int32(take) {
		if !c.refresh(p, r) {
			return false
		}
	}
	r.pay += take
	s.aux = uint64(take)<<32 | uint64(pos)
	op.Data = r.cmd.Window(r.payload+int(pos), op.Len)
	return true
}

// refresh looks at what the peer has consumed since it was looked at last; it reports
// whether there is more room. If not, the sleeper will watch for it.
func (c *live) refresh(p *livePeer, r *outRing) bool {
	credit := shm.Load32(r.credit)
	if credit == r.seen {
		r.waits.Store(1<<32 | uint64(credit))
		if credit = shm.Load32(r.credit); credit == r.seen {
			return false
		}
	}
	if credit-r.seen > r.head-r.seen {
		c.fault(p.remote, "it returned %d slots of %d that were under way", credit-r.seen, r.head-r.seen)
		return false
	}
	r.waits.Store(0)
	r.seen = credit
	r.room = credit + depth
	r.payRoom = r.payEnd[(credit-1)&(depth-1)] + payloadRing
	return true
}

// replyRoom reports whether a reply of any size to the peer has room.
func (c *live) replyRoom(p *livePeer) bool {
	r := &p.out[replies]
	for r.head == r.room || r.payRoom-r.pay < 2*maxMedium {
		if !c.refresh(p, r) {
			return false
		}
	}
	return true
}

// Commit implements core.Conduit.
func (c *live) Commit(op *core.Op) {
	p := c.byRank[op.Dst]
	s := slotOf(op.Args)
	word := slotWord(uint32(op.Slot), op.Hdr, op.Len, op.Slot>>32)
	if c.fenced {
		p.cmd.PublishFenced64(&s.word, word)
	} else {
		p.cmd.Publish64(&s.word, word, unsafe.Add(unsafe.Pointer(s), prefetchOut*slotSize))
	}
	if c.hinted {
		p.hints.Store8(c.me, 1)
	}
	c.wake(p.index)
}

// slotOf returns the slot that holds the arguments.
func slotOf(args *[core.MaxArgs]uint32) *slot {
	return (*slot)(unsafe.Add(unsafe.Pointer(args), -int(unsafe.Offsetof(slot{}.args))))
}

// returned reports whether the peer has consumed something since a request began to wait.
func (r *outRing) returned() bool {
	w := r.waits.Load()
	return w != 0 && uint32(w) != shm.Load32(r.credit)
}
