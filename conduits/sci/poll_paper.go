package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// workQueue is the list of messages that have been found and not handled, first in first
// out, linked through their next fields. An entry is the message's flag index plus one.
type workQueue struct{ first, last uint32 }

func (q *workQueue) empty() bool { return q.first == 0 }

// message returns the command with the given flag index.
func (c *paper) message(flag int) *command {
	return &c.peers[flag/perPeer].in[flag%perPeer]
}

func (c *paper) enqueue(flag int) {
	q, x := &c.queue, uint32(flag+1)
	if q.empty() {
		q.first = x
	} else {
		c.message(int(q.last - 1)).next = x
	}
	q.last = x
}

// Poll implements core.Conduit. While nothing comes it costs a look at the message exist
// flag.
func (c *paper) Poll(budget int) int {
	if shm.Load8(c.exist) != 0 {
		c.scan()
	} else if c.queue.empty() {
		if c.emptyPolls++; c.emptyPolls != c.forcedScan {
			return 0
		}
		c.scan()
	}
	n := 0
	for n < budget && !c.queue.empty() {
		c.handleFirst()
		n++
	}
	return n
}

// scan clears the exist flag and then collects every message that is ready. In this order
// a message that comes during the scan is found by it or sets the exist flag again.
func (c *paper) scan() {
	c.emptyPolls = 0
	shm.Swap8(c.exist, 0)
	for i := range c.flagWords {
		if shm.Load32(&c.flagWords[i]) == 0 {
			continue
		}
		for number := range perPeer {
			x := mrf(i, number)
			flag := shm.Load8(&c.flags[x])
			if flag == flagNone {
				continue
			}
			shm.Store8(&c.flags[x], flagNone)
			c.collect(&c.peers[i], number, flag, x)
		}
	}
}

// collect queues a message that has arrived, or frees the place of a request that was
// answered without one.
func (c *paper) collect(p *paperPeer, number int, flag uint8, x int) {
	switch {
	case flag == flagControl && number >= pairs:
		p.used.And(^uint32(1 << (number - pairs)))
	case flag >= flagShort && flag <= flagLong:
		c.enqueue(x)
	default:
		c.fault(p.remote, "flag %d for message %d", flag, number)
	}
}

// handleFirst runs the handler of the work queue's first message and answers its sender.
func (c *paper) handleFirst() {
	x := int(c.queue.first - 1)
	p, number := &c.peers[x/perPeer], x%perPeer
	m := &p.in[number]
	if c.queue.first == c.queue.last {
		c.queue = workQueue{}
	} else {
		c.queue.first = m.next
	}
	if m.hdr.Reply() != (number >= pairs) {
		c.fault(p.remote, "a %v as message %d", m.hdr, number)
		return
	}
	replied := c.dispatch(p, m, number)
	switch {
	case number >= pairs:
		p.used.And(^uint32(1 << (number - pairs)))
	case replied:
		c.raise(p, number+pairs, c.reply)
	default:
		c.raise(p, number+pairs, flagControl)
	}
}

// dispatch checks the message and runs its handler.
func (c *paper) dispatch(p *paperPeer, m *command, number int) (replied bool) {
	n := int(m.more)<<16 | int(m.size)
	switch m.hdr.Kind() {
	case core.Long:
		off := uint64(m.pointer)
		if w, ok := c.ep.Window(off, uint64(n)); ok && byDMA(n) {
			head, tail := ragged(off, n)
			copy(w[:head], m.payload[:head])
			copy(w[n-tail:], m.payload[head:head+tail])
		}
		return c.ep.DispatchLong(p.rank, m.hdr, &m.args, off, uint64(n), uint64(number))
	case core.Medium:
		if n > paperMedium {
			c.fault(p.remote, "a Medium of %d bytes", n)
			return false
		}
		return c.ep.Dispatch(p.rank, m.hdr, &m.args, m.payload[:n:n], uint64(number))
	}
	return c.ep.Dispatch(p.rank, m.hdr, &m.args, nil, uint64(number))
}
