package mpi

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Poll implements core.Conduit: one call of the transport, and another one if handlers have
// sent something. What has ended without a message counts as one, since it is room that
// somebody may wait for.
func (c *conduit) Poll(budget int) int { return c.poll(budget, false) }

// Spin implements core.Spinner, over a transport that is a Spinner.
func (c *conduit) Spin(budget int) int { return c.poll(budget, true) }

// poll is Poll, or Spin.
func (c *conduit) poll(budget int, spin bool) int {
	c.proc.Charge(c.costs.Poll)
	c.proc.Sync()
	c.lock() // not deferred: a handler that panics leaves it unlocked
	shm.Publish32(&c.polls, c.polls+1)
	c.flush()
	if spin && !c.broken {
		c.filed(c.spinner.Spin(c.posts, c.done[:]))
	} else {
		c.progress()
	}
	n := c.take(budget)
	c.flush()
	if len(c.debtors) > 0 {
		c.settle()
	}
	if c.sends || n == 0 && len(c.posts) > 0 {
		c.progress()
		if n == 0 {
			n = c.take(budget) // what came with the second call is not left to a rank that sleeps
			c.flush()
			if c.sends {
				c.progress()
			}
		}
	}
	done := c.completeCollectives()
	c.collect()
	if n == 0 && c.events != c.seen {
		n = 1
	}
	c.seen = c.events
	c.unlock()
	return n + done
}

// progress hands over what has been posted, and files what has ended.
func (c *conduit) progress() {
	for more := true; more && !c.broken; {
		more = c.filed(c.t.Progress(c.posts, c.done[:]))
	}
}

// filed files the n completions that a call of the transport has brought, and reports whether there may be
// more.
func (c *conduit) filed(n int, err error) (more bool) {
	if err != nil {
		c.fail(fmt.Errorf("mpi: rank %d: %w", c.rank, err))
		return false
	}
	c.posts, c.sends = c.posts[:0], false
	c.events += uint64(n)
	for i := range n {
		c.file(&c.done[i])
	}
	return n == doneBatch
}

// file puts what a completion gives back where it belongs.
func (c *conduit) file(d *Completion) {
	l, n := lane(d.ID>>32&1), uint32(d.ID)
	switch d.ID &^ (1<<33 - 1) {
	case ofPacket:
		k := c.out[l].packets[n]
		k.peer.lanes[l].busy--
		c.release(l, k)
	case ofStage:
		c.out[l].idle = append(c.out[l].idle, n)
		c.ended()
	case ofPinned:
		c.unpin(n)
		c.ended()
	case ofReceive:
		c.arrive(l, c.in[l].packets[n], d)
	case ofLate:
		c.ended()
		m := c.late.all[n]
		if d.Len != m.n {
			c.fault(m.peer.rank, "a payload of %d bytes, %d were announced", d.Len, m.n)
			return
		}
		c.in[l].ready.Push(n)
	case ofCollective:
		c.joint.ended = append(c.joint.ended, n)
		c.ended()
	}
}

// arrive takes note of a packet that has come, and of the credits in its header for collect.
func (c *conduit) arrive(l lane, k *packet, d *Completion) {
	p := c.known(d.Source)
	if p == nil {
		if _, ok := slices.BinarySearch(c.group, d.Source); !ok {
			c.fault(d.Source, "it is not in the group of this rank")
			return
		}
		p = c.meet(d.Source)
	}
	credits, welcome, err := parsePacketHeader(k.buf[:d.Len])
	switch {
	case err != nil:
		c.fault(p.rank, "%v", err)
		return
	case credits > p.under-p.back:
		c.fault(p.rank, "it returned %d credits of %d", credits, p.under-p.back)
		return
	case credits > 0 && p.back == 0:
		c.creditors = append(c.creditors, p)
	}
	p.back += credits
	if welcome {
		p.room = c.depth
	}
	if !p.welcomed {
		c.indebted(p)
	}
	k.peer, k.n, k.at = p, d.Len, packetHeader
	if k.at == k.n {
		c.repost(k)
		return
	}
	if in := &c.in[l]; in.current == nil { // so nothing waits before it
		in.current = k
	} else {
		in.arrived.Push(k)
	}
}

// known returns what is known of a rank: nil if that is nothing.
func (c *conduit) known(r core.Rank) *peer {
	if uint(r) < uint(len(c.peers)) {
		return c.peers[r]
	}
	return nil
}

// meet begins to know a rank of the group. There are as many more receives then as it may need, if that is
// not more than there may be.
func (c *conduit) meet(r core.Rank) *peer {
	p := &peer{rank: r, room: min(firstRoom, c.depth)}
	if c.reach != nil {
		p.near = c.reach(r)
	}
	c.peers[r] = p
	source, n := AnySource, min(c.depth, c.receives-c.posted)
	if c.exact {
		source, n = r, min(c.depth, exactReceives)-firstRoom
	}
	if n > 0 {
		if err := c.postReceives(source, n); err != nil {
			c.fail(fmt.Errorf("mpi: rank %d: receives for rank %d: %w", c.rank, r, err))
		}
	}
	return p
}

// take runs the handlers of up to budget messages. Replies go first. A request is taken only
// if a reply of any size to it could leave, and otherwise stays where it is.
func (c *conduit) take(budget int) int {
	o := &c.out[replies]
	n := 0
	for n < budget && !c.broken && (c.step(replies) || len(o.free) > 0 && len(o.idle) > 0 && c.step(requests)) {
		n++
	}
	return n
}

// collect makes use of the credits that have come back. Only Poll does so: a rank that only
// sends runs out of credit, has to poll, and so serves its peers.
func (c *conduit) collect() {
	for _, p := range c.creditors {
		p.under -= p.back
		p.back = 0
	}
	c.creditors = c.creditors[:0]
}

// step delivers the next message of a lane; it reports false if there is none.
func (c *conduit) step(l lane) bool {
	in := &c.in[l]
	if in.ready.Len() > 0 {
		i, _ := in.ready.Pop()
		c.deliverLate(l, i)
		return true
	}
	for !c.broken {
		k := in.current
		if k == nil {
			return false
		}
		var r record
		at := k.at
		size, err := parseRecord(&r, k.buf[at:k.n])
		if err != nil {
			c.fault(k.peer.rank, "%v", err)
			return false
		}
		k.at += size
		delivered := c.accept(l, k.peer, &r) && c.deliver(k.peer, &r, arguments(k.buf, at+recordHeader))
		if k.at == k.n {
			in.current, _ = in.arrived.Pop()
			c.repost(k)
		}
		if delivered {
			return true
		}
	}
	return false
}

// accept checks that a record is one that its sender may send now, and counts it. A reply
// gives its request's credit back.
func (c *conduit) accept(l lane, p *peer, r *record) bool {
	switch {
	case laneOf(r.hdr) != l:
		c.fault(p.rank, "a %v among the %v", r.hdr, l)
	case l == replies && p.under == p.back:
		c.fault(p.rank, "a %v to no request", r.hdr)
	case l == requests && p.held == c.depth:
		c.fault(p.rank, "more than %d requests under way", c.depth)
	case l == replies:
		p.under--
		return true
	default:
		p.held++
		return true
	}
	return false
}

// deliver runs the handler of a record, or reports false if its payload is still to come.
func (c *conduit) deliver(p *peer, r *record, args *[core.MaxArgs]uint32) bool {
	switch r.tag {
	case 0:
	case inPlace:
		return c.deliverPlaced(p, r, args)
	default:
		c.expect(p, r)
		return false
	}
	if r.hdr.Kind() == core.Long {
		if w, ok := core.Window(c.memory, r.off, uint64(r.n)); ok {
			copy(w, r.data)
			c.proc.Charge(c.copying(len(r.data)))
		}
	}
	c.dispatch(p, r.hdr, args, r.off, r.data)
	return true
}

// deliverPlaced runs the handler of a Long whose sender has stored the payload where it goes.
func (c *conduit) deliverPlaced(p *peer, r *record, args *[core.MaxArgs]uint32) bool {
	window, inside := core.Window(c.memory, r.off, uint64(r.n))
	if p.near == nil || r.hdr.Kind() != core.Long || !inside {
		c.fault(p.rank, "a %v whose %d bytes are said to be in place at %d", r.hdr, r.n, r.off)
		return false
	}
	c.dispatch(p, r.hdr, args, r.off, window)
	return true
}

// dispatch runs a handler. A Long's payload lies in the segment already, if its range does.
func (c *conduit) dispatch(p *peer, hdr core.Header, args *[core.MaxArgs]uint32, off uint64, data []byte) {
	c.proc.Charge(c.costs.Deliver)
	c.unlock()
	var replied bool
	if hdr.Kind() == core.Long {
		replied = c.port.DispatchLong(p.rank, hdr, args, c.memory, off, uint64(len(data)), 0)
	} else {
		replied = c.port.Dispatch(p.rank, hdr, args, data, 0)
	}
	c.lock()
	if !hdr.Reply() && !replied {
		c.owe(p)
	}
}

// expect notes a message whose payload comes as a message of its own and posts the receive: a
// Long's in its place in the segment, a Medium's as soon as there is a buffer.
func (c *conduit) expect(p *peer, r *record) {
	kind, n := r.hdr.Kind(), int(r.n)
	window, inside := core.Window(c.memory, r.off, uint64(n))
	switch {
	case r.tag < firstTag || r.tag > MaxTag || n == 0 || kind != core.Medium && kind != core.Long:
		c.fault(p.rank, "a %v with a payload of %d bytes under tag %d", r.hdr, n, r.tag)
		return
	case kind == core.Medium && n > c.medium:
		c.fault(p.rank, "a Medium of %d bytes", n)
		return
	case kind == core.Long && !inside:
		c.fault(p.rank, "a payload of %d bytes at %d outside the segment", n, r.off)
		return
	}
	l := laneOf(r.hdr)
	in := &c.in[l]
	i, m := c.late.take()
	m.peer, m.hdr, m.off, m.n, m.tag = p, r.hdr, r.off, n, r.tag
	for j := range r.hdr.NArgs() {
		m.args[j] = binary.NativeEndian.Uint32(r.args[4*j:])
	}
	if kind == core.Long {
		m.data = window
	} else if k := len(in.idle); k > 0 {
		m.medium, in.idle = in.idle[k-1], in.idle[:k-1]
		m.data = in.mediums[m.medium][:n:n]
	} else {
		in.waiting.Push(i)
		return
	}
	c.postLate(l, i)
}

// postLate posts the receive of a payload that has its place.
func (c *conduit) postLate(l lane, i uint32) {
	m := c.late.all[i]
	c.begun()
	*c.post() = Post{Buf: m.data, ID: idOf(ofLate, l, int(i)), Peer: m.peer.rank, Tag: m.tag, Receive: true}
}

// deliverLate runs the handler of a message whose payload has come, and gives the buffer of a
// Medium to the next that waits for one.
func (c *conduit) deliverLate(l lane, i uint32) {
	m := c.late.all[i]
	c.dispatch(m.peer, m.hdr, &m.args, m.off, m.data)
	if in := &c.in[l]; m.hdr.Kind() == core.Medium {
		if next, ok := in.waiting.Pop(); ok {
			w := c.late.all[next]
			w.medium, w.data = m.medium, in.mediums[m.medium][:w.n:w.n]
			c.postLate(l, next)
		} else {
			in.idle = append(in.idle, m.medium)
		}
	}
	c.late.put(i)
}

// fault ends the job because of what a peer sent.
func (c *conduit) fault(from core.Rank, format string, args ...any) {
	c.fail(fmt.Errorf("mpi: rank %d: message from rank %d: %s", c.rank, from, fmt.Sprintf(format, args...)))
}

// fail ends the job; the transport is not used any more.
func (c *conduit) fail(err error) {
	c.broken = true
	c.port.Fail(err)
}
