package sci

import (
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// outRing is the sending end of a ring in a peer's memory. Reserve alone changes it.
type outRing struct {
	slots   *[depth]slot       // in the peer's memory
	payload *[payloadRing]byte // likewise
	credit  *uint64            // in local memory: what the peer has consumed, see credit

	head    uint32 // the next slot to fill
	room    uint32 // head may not reach it
	pay     uint32 // payload bytes taken so far
	payRoom uint32 // pay may not pass it
	seen    uint64 // the credit that the rooms follow from

	// waits is set while a request waits for room: the credit seen, plus one. The sleeper
	// compares it with the credit.
	waits atomic.Uint64
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
	s := &r.slots[r.head&(depth-1)]
	op.Slot = uint64(r.head)
	if op.Hdr.Kind() != core.Short && !c.takePayload(p, r, s, op) {
		return core.NoRoom
	}
	op.Args = &s.args
	r.head++
	return core.Reserved
}

// takePayload finds room for a payload and notes in the slot where it is.
func (c *live) takePayload(p *livePeer, r *outRing, s *slot, op *core.Op) bool {
	if op.Hdr.Kind() == core.Long {
		s.aux = op.Off
		op.Data = c.longWindow(p.remote, op.Off, op.Len)
		return true
	}
	if first := inlineAt(op.Hdr.NArgs()); op.Len <= slotSize-first {
		op.Slot |= flagInline << 32
		op.Data = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), first)), op.Len)
		return true
	}
	// It lies in the payload ring in one piece.
	take := uint32(op.Len+payloadUnit-1) &^ (payloadUnit - 1)
	pos := r.pay % payloadRing
	if pos+take > payloadRing {
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
	op.Data = r.payload[pos:][:op.Len:op.Len]
	return true
}

// refresh looks at what the peer has consumed since it was looked at last; it reports
// whether there is more room. If not, the sleeper will watch for it.
func (c *live) refresh(p *livePeer, r *outRing) bool {
	now := shm.Load64(r.credit)
	if now == r.seen {
		r.waits.Store(now + 1)
		if now = shm.Load64(r.credit); now == r.seen {
			return false
		}
	}
	tail, pay := creditParts(now)
	before, payBefore := creditParts(r.seen)
	if tail-before > r.head-before || pay-payBefore > r.pay-payBefore {
		c.fault(p.remote, "it returned %d slots of %d and %d payload bytes of %d that were under way",
			tail-before, r.head-before, pay-payBefore, r.pay-payBefore)
		return false
	}
	r.waits.Store(0)
	r.seen = now
	r.room, r.payRoom = tail+depth, pay+payloadRing
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
		shm.Swap64(&s.word, word)
	} else {
		shm.Publish64(&s.word, word)
		cpu.PrefetchW(unsafe.Add(unsafe.Pointer(s), prefetchOut*slotSize))
	}
	if c.hinted {
		shm.Store8(p.hint, 1)
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
	return w != 0 && w != shm.Load64(r.credit)+1
}
