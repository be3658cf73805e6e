package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// workQueue is the list of messages that have been found and not handled, first in first
// out. An entry is the message's flag index plus one; the last one's link is itself, that of
// what is not queued 0. (The published links lie in the messages, where their senders could
// write.)
type workQueue struct {
	first, last uint32
	next        []uint32 // by flag index
}

func (q *workQueue) empty() bool { return q.first == 0 }

// grow makes room for n messages in all.
func (q *workQueue) grow(n int) {
	for len(q.next) < n {
		q.next = append(q.next, 0)
	}
}

// push queues a message; it reports false if it is queued already.
func (q *workQueue) push(flag int) bool {
	x := uint32(flag + 1)
	if q.next[flag] != 0 {
		return false
	}
	if q.empty() {
		q.first = x
	} else {
		q.next[q.last-1] = x
	}
	q.last, q.next[flag] = x, x
	return true
}

// pop takes the first message out; there is one.
func (q *workQueue) pop() (flag int) {
	x := q.first
	if q.first = q.next[x-1]; q.first == x {
		q.first = 0
	}
	q.next[x-1] = 0
	return int(x - 1)
}

// Poll implements core.Conduit. While nothing comes it costs a look at the message exist
// flag. A place that a control reply has freed counts like a message: it is room that the
// caller may wait for.
func (c *paper) Poll(budget int) int {
	if c.model != nil {
		c.model.poll()
		c.dev.Service()
	}
	if shm.Load8(c.exist) != 0 {
		c.scan()
	} else if c.queue.empty() {
		if c.emptyPolls++; c.emptyPolls != c.forcedScan {
			return 0
		}
		c.scan()
	}
	n := c.freed
	c.freed = 0
	for n < budget && !c.queue.empty() {
		c.handleFirst()
		n++
	}
	return n
}

// scan clears the exist flag and then collects every message that is ready. In this order
// a message that comes during the scan is found by it or sets the exist flag again. Under a model
// other ranks go on between the steps of a scan.
func (c *paper) scan() {
	c.emptyPolls = 0
	shm.Swap8(c.exist, 0)
	c.model.cleared()
	for i := range c.sets {
		first := i * c.control.set
		switch set := &c.sets[i]; {
		case set.flags == nil: // being made: nobody has stored to it
		case c.control.bank > 0:
			c.scanBanks(set, first)
		default:
			c.scanSenders(set, first, c.control.set)
		}
	}
	c.model.scanned()
}

// scanBanks collects what is ready of the senders from first on whose flags are in the set, where
// summary flags say which of them to look at. A summary flag is cleared before it is asked which senders
// its bank has: there may be a new one since the scan began, whose message that flag has told of.
func (c *paper) scanBanks(set *flagSet, first int) {
	bank := c.control.bank
	banks := (min(c.control.set, len(c.senders)-first) + bank - 1) / bank
	c.model.scans((banks + 3) / 4)
	summary := set.flags[perPeer*c.control.set:][:banks]
	for i := range summary {
		if shm.Load8(&summary[i]) != 0 {
			shm.Swap8(&summary[i], 0)
			c.model.cleared()
			c.scanSenders(set, first+i*bank, bank)
		}
	}
}

// scanSenders collects what is ready of n senders from first on, or as many as there are. Their flags are
// all in the set.
func (c *paper) scanSenders(set *flagSet, first, n int) {
	n = min(n, len(c.senders)-first)
	c.model.scans(n)
	senders, at := c.senders[first:first+n], c.control.mrf(first)
	ready := set.words[at/perPeer:][:len(senders)]
	for i := range ready {
		if shm.Load32(&ready[i]) == 0 {
			continue
		}
		flags := set.flags[at+perPeer*i:][:perPeer]
		for number := range flags {
			flag := shm.Load8(&flags[number])
			if flag == flagNone {
				continue
			}
			shm.Store8(&flags[number], flagNone)
			c.model.cleared()
			c.collect(senders[i], number, flag)
		}
	}
}

// collect queues a message that has arrived, or frees the place of a request that was
// answered without one.
func (c *paper) collect(p *paperPeer, number int, flag uint8) {
	switch {
	case flag == flagControl && number >= pairs:
		c.freed++
		p.used.And(^uint32(1 << (number - pairs)))
	case flag >= flagShort && flag <= flagLong && c.queue.push(int(p.number)*perPeer+number):
		c.model.enqueued()
	default:
		c.fault(p.remote, "flag %d for message %d", flag, number)
	}
}

// handleFirst runs the handler of the work queue's first message and answers its sender.
func (c *paper) handleFirst() {
	x := c.queue.pop()
	p, number := c.senders[x/perPeer], x%perPeer
	m := p.received(number)
	if m == nil {
		c.fault(p.remote, "message %d without a command segment", number)
		return
	}
	c.model.dispatched()
	hdr := m.hdr // once: its sender could change it
	if hdr.Reply() != (number >= pairs) {
		c.fault(p.remote, "a %v as message %d", hdr, number)
		return
	}
	replied := c.dispatch(p, m, hdr, number)
	switch {
	case number >= pairs:
		p.used.And(^uint32(1 << (number - pairs)))
	case p.flags == nil && !c.reach(p, m.number): // the job has failed
	case replied:
		c.raise(p, number+pairs, c.reply)
	default:
		c.raise(p, number+pairs, flagControl)
	}
}

// dispatch checks the message and runs its handler.
func (c *paper) dispatch(p *paperPeer, m *command, hdr core.Header, number int) (replied bool) {
	n := int(m.more)<<16 | int(m.size)
	switch hdr.Kind() {
	case core.Long:
		off := uint64(m.pointer)
		if w, ok := core.Window(c.own, off, uint64(n)); ok && byDMA(n) {
			head, tail := ragged(off, n)
			copy(w[:head], m.payload[:head])
			copy(w[n-tail:], m.payload[head:head+tail])
			c.model.copied(head + tail)
		}
		return c.port.DispatchLong(p.rank, hdr, &m.args, c.own, off, uint64(n), uint64(number))
	case core.Medium:
		if n > paperMedium {
			c.fault(p.remote, "a Medium of %d bytes", n)
			return false
		}
		return c.port.Dispatch(p.rank, hdr, &m.args, m.payload[:n:n], uint64(number))
	}
	return c.port.Dispatch(p.rank, hdr, &m.args, nil, uint64(number))
}
