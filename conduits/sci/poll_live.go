package sci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// inRing is the receiving end of a ring, in local memory. Poll alone uses it.
type inRing struct {
	next     *slot
	lap      uint8
	tail     uint32 // the number of next
	returned uint32 // the consumed slots that the sender knows of
	pay      uint32 // payload bytes consumed since then
	slots    *[depth]slot
	payload  []byte
}

// ready reports whether a message has come.
func (r *inRing) ready() bool { return uint8(shm.Load64(&r.next.word)) == r.lap }

// Poll implements core.Conduit.
func (c *live) Poll(budget int) int {
	if c.hinted {
		return c.pollHinted(budget)
	}
	n := 0
	for i := range c.peers {
		p := &c.peers[i]
		if p.in[replies].ready() {
			n += c.take(p, replies, budget)
		}
		if p.in[requests].ready() {
			n += c.take(p, requests, budget)
		}
	}
	return n
}

// pollHinted looks only at the senders who say that they have written: one byte each, in
// local memory. As with the message exist flag, the byte is cleared before the rings are
// looked at, so that a message which comes meanwhile sets it again.
func (c *live) pollHinted(budget int) int {
	n := 0
	for w := range c.hintWords {
		if shm.Load64(&c.hintWords[w]) == 0 {
			continue
		}
		for i := 8 * w; i < min(8*w+8, len(c.peers)); i++ {
			if shm.Load8(&c.hints[i]) != 0 {
				n += c.takeHinted(i, budget)
			}
		}
	}
	if n == 0 {
		if c.emptyPolls++; c.emptyPolls == c.forcedScan {
			c.emptyPolls = 0
			for i := range c.peers {
				n += c.takeHinted(i, budget)
			}
		}
	}
	return n
}

// takeHinted handles what sender i has written; if some stays, the hint does too.
func (c *live) takeHinted(i, budget int) int {
	p := &c.peers[i]
	shm.Swap8(&c.hints[i], 0)
	n := c.take(p, replies, budget)
	n += c.take(p, requests, budget)
	if p.in[replies].ready() || p.in[requests].ready() {
		shm.Store8(&c.hints[i], 1)
	}
	return n
}

// take handles up to budget messages of a ring. A request stays where it is until its
// reply has room.
func (c *live) take(p *livePeer, l lane, budget int) int {
	r := &p.in[l]
	n := 0
	for ; n < budget; n++ {
		word := shm.Load64(&r.next.word)
		if uint8(word) != r.lap || (l == requests && !c.replyRoom(p)) {
			break
		}
		if n > 0 {
			// There is a backlog: the slot some messages on is written already.
			cpu.Prefetch(unsafe.Pointer(&r.slots[(r.tail+prefetchIn)&(depth-1)]))
		}
		if !c.handle(p, r, word) {
			break
		}
		r.tail++
		r.next = &r.slots[r.tail&(depth-1)]
		r.lap = lapOf(r.tail)
		if r.tail-r.returned >= creditEvery || r.pay >= payEvery {
			c.returnCredit(p, l)
		}
	}
	return n
}

// handle checks the message in r.next and runs its handler; it reports false after a
// message that no correct peer writes.
func (c *live) handle(p *livePeer, r *inRing, word uint64) bool {
	s := r.next
	hdr, n := core.Header(word>>16), word>>32
	var data []byte
	switch hdr.Kind() {
	case core.Long:
		c.ep.DispatchLong(p.rank, hdr, &s.args, s.aux, n, 0)
		return true
	case core.Medium:
		if word&flagInline != 0 {
			first := inlineAt(hdr.NArgs())
			if n > uint64(slotSize-first) {
				c.fault(p.remote, "an inline payload of %d bytes", n)
				return false
			}
			data = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), first)), n)
			break
		}
		pos, take := s.aux&0xffffffff, uint32(s.aux>>32)
		if n > maxMedium || pos+n > payloadRing || uint64(take) < n || take > payloadRing {
			c.fault(p.remote, "a payload of %d bytes at %d", n, pos)
			return false
		}
		r.pay += take
		data = r.payload[pos : pos+n : pos+n]
	}
	c.ep.Dispatch(p.rank, hdr, &s.args, data, 0)
	return true
}

// returnCredit tells the sender what has been consumed, and wakes it in case it waits.
func (c *live) returnCredit(p *livePeer, l lane) {
	r := &p.in[l]
	r.returned, r.pay = r.tail, 0
	if c.fenced {
		p.cmd.StoreFenced32(creditOffset(l), r.tail)
	} else {
		p.cmd.Store32(creditOffset(l), r.tail)
	}
	c.wake(p.index)
}
