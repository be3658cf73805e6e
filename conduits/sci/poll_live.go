package sci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// inRing is the receiving end of a ring, in local memory. Poll alone uses it.
type inRing struct {
	slots    *[depth]slot
	next     *slot // whose message comes next: that of tail
	payload  *[payloadRing]byte
	back     *uint64 // in the sender's memory: what has been consumed, see credit
	tail     uint32  // the next slot to take
	pay      uint32  // payload bytes consumed
	returned uint32  // what the sender knows of tail
	payKnown uint32  // and of pay
	lap      uint8   // which that one has then, see lapOf
	streak   bool    // the last poll found something
	answered bool    // the last message was, by a reply
}

// await has the message with the given number come next.
func (r *inRing) await(n uint32) {
	r.tail, r.next, r.lap = n, &r.slots[n&(depth-1)], lapOf(n)
}

// ready reports whether the next message has come.
func (r *inRing) ready() bool { return uint8(shm.Load64(&r.next.word)) == r.lap }

// Poll implements core.Conduit.
func (c *live) Poll(budget int) int {
	if c.hinted {
		return c.pollHinted(budget)
	}
	n := 0
	for range c.ends {
		i := c.first
		e := &c.ends[i]
		if c.first++; c.first == len(c.ends) {
			c.first = 0
		}
		if r := &e.in[replies]; r.ready() {
			n += c.take(&c.peers[i], replies, r.limit(budget-n))
		} else {
			r.streak = false
		}
		if r := &e.in[requests]; r.ready() {
			n += c.take(&c.peers[i], requests, r.limit(budget-n))
		} else {
			r.streak = false
		}
		if n >= budget {
			break // the next poll begins with the next sender
		}
	}
	return n
}

// limit returns how many messages a poll may take that has found one. After a poll without
// any it is one: to look for a second would fetch a line that the sender owns, and until it
// has come what this rank sends in answer cannot leave the processor.
func (r *inRing) limit(budget int) int {
	if !r.streak {
		r.streak = true
		return 1
	}
	return budget
}

// pollHinted looks only at the senders who say that they have written: one byte each, in
// local memory. As with the message exist flag, the byte is cleared before the rings are
// looked at, so that a message which comes meanwhile sets it again.
func (c *live) pollHinted(budget int) int {
	n := 0
	for range c.hintWords {
		w := c.first
		if c.first++; c.first == len(c.hintWords) {
			c.first = 0
		}
		if shm.Load64(&c.hintWords[w]) == 0 {
			continue
		}
		for i := 8 * w; i < min(8*w+8, len(c.peers)); i++ {
			if shm.Load8(&c.hints[i]) != 0 {
				n += c.takeHinted(i, budget-n)
			}
		}
		if n >= budget {
			break // the next poll begins with the next senders
		}
	}
	if n > 0 {
		c.emptyPolls = 0
	} else if c.emptyPolls++; c.emptyPolls == c.forcedScan {
		c.emptyPolls = 0
		for i := range c.peers {
			n += c.takeHinted(i, budget)
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
		s := r.next
		word := shm.Load64(&s.word)
		if uint8(word) != r.lap || (l == requests && !c.replyRoom(p)) {
			break
		}
		if n >= backlog {
			// The slot some messages on is written already.
			cpu.Prefetch(unsafe.Pointer(&r.slots[(r.tail+prefetchIn)&(depth-1)]))
		} else if r.answered {
			// So will this one be: get the reply's slot back meanwhile, which the peer polls.
			o := &p.out[replies]
			cpu.PrefetchW(unsafe.Pointer(&o.slots[o.head&(depth-1)]))
		}
		hdr := core.Header(word >> 16)
		if hdr.Reply() != (l == replies) {
			c.fault(p.remote, "a %v among the %v", hdr, l)
			return n
		}
		switch hdr.Kind() {
		case core.Long:
			r.answered = c.port.DispatchLong(p.rank, hdr, &s.args, c.own, s.aux, word>>32, 0)
		case core.Medium:
			data, ok := c.payload(p, r, s, word)
			if !ok {
				return n
			}
			r.answered = c.port.Dispatch(p.rank, hdr, &s.args, data, 0)
		default:
			r.answered = c.port.Dispatch(p.rank, hdr, &s.args, nil, 0)
		}
		r.await(r.tail + 1)
		if r.tail-r.returned >= creditEvery || r.pay-r.payKnown >= payEvery {
			c.returnCredit(p, l)
		}
	}
	return n
}

// payload finds the payload of the Medium in s; it reports false of one that no correct
// peer writes.
func (c *live) payload(p *livePeer, r *inRing, s *slot, word uint64) ([]byte, bool) {
	n := word >> 32
	if word&flagInline != 0 {
		first := inlineAt(core.Header(word >> 16).NArgs())
		if n > uint64(max(0, slotSize-first)) {
			c.fault(p.remote, "an inline payload of %d bytes", n)
			return nil, false
		}
		return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), first)), n), true
	}
	pos, take := s.aux&0xffffffff, uint32(s.aux>>32)
	if n > maxMedium || pos+n > payloadRing || uint64(take) < n || take > payloadRing {
		c.fault(p.remote, "a payload of %d bytes at %d", n, pos)
		return nil, false
	}
	r.pay += take
	return r.payload[pos : pos+n : pos+n], true
}

// returnCredit tells the sender what has been consumed, and wakes it in case it waits.
func (c *live) returnCredit(p *livePeer, l lane) {
	r := &p.in[l]
	r.returned, r.payKnown = r.tail, r.pay
	if c.fenced {
		shm.Swap64(r.back, credit(r.tail, r.pay))
	} else {
		shm.Store64(r.back, credit(r.tail, r.pay))
	}
	c.wake(p.index)
}
