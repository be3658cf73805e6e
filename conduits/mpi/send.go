package mpi

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// carriage is how a payload travels.
type carriage uint8

const (
	packed carriage = iota // in the packet
	staged                 // as a message of its own, out of a stage
	pinned                 // as a message of its own, from where the caller has it
	placed                 // by stores to the receiver's segment, before the packet
)

// carriage chooses for the payload of op. The models charge for copies into stages, and so pin
// nothing.
func (c *conduit) carriage(p *peer, op *core.Op) carriage {
	switch {
	case p.near != nil && op.Hdr.Kind() == core.Long && op.Len > 0:
		return placed
	case packetHeader+recordSize(op.Hdr.NArgs(), op.Len) <= c.packet:
		return packed
	case op.Src != nil && c.proc == nil:
		return pinned
	}
	return staged
}

// Reserve implements core.Conduit. The message gets a packet of its own; Commit decides
// whether it travels in it or with others.
func (c *conduit) Reserve(op *core.Op) core.Result {
	c.lock()
	defer c.unlock()
	l := laneOf(op.Hdr)
	o := &c.out[l]
	p := c.known(op.Dst)
	if p == nil {
		p = c.meet(op.Dst)
	}
	if l == requests && (p.under >= p.room || c.broken) || len(o.free) == 0 {
		return core.NoRoom
	}
	way := c.carriage(p, op)
	if way == staged && len(o.idle) == 0 {
		return core.NoRoom
	}
	k := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	k.peer, k.way, k.at = p, way, packetHeader+recordHeader
	op.Slot = uint64(uint32(k.id))
	op.Args = arguments(k.buf, k.at)
	k.at += padded(4 * op.Hdr.NArgs())
	switch way {
	case packed:
		op.Data = k.buf[k.at : k.at+op.Len : k.at+op.Len]
	case staged:
		k.stage = o.idle[len(o.idle)-1]
		o.idle = o.idle[:len(o.idle)-1]
		op.Data = o.stages[k.stage][:op.Len:op.Len]
	case placed:
		op.Data = p.near[op.Off:][:op.Len:op.Len]
	}
	if l == requests {
		p.under++
	}
	return core.Reserved
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	c.lock()
	defer c.unlock()
	l := laneOf(op.Hdr)
	o := &c.out[l]
	k := o.packets[op.Slot]
	p := k.peer
	c.proc.Charge(c.costs.Build + c.copying(op.Len))
	if l == replies {
		p.held-- // the reply settles its request
	}
	if k.way == staged && k.at+padded(op.Len) <= c.packet { // it has become less since Reserve
		copy(k.buf[k.at:], o.stages[k.stage][:op.Len])
		o.idle = append(o.idle, k.stage)
		k.way = packed
	}
	tag, way, stage := int32(0), k.way, k.stage // enqueue may give k back
	switch k.n = k.at; way {
	case packed:
		k.n += padded(op.Len)
	case staged, pinned:
		tag = p.nextTag()
	case placed:
		tag = inPlace
	}
	putRecordHeader(k.buf[packetHeader:], op.Hdr, tag, op.Len, op.Off)
	apart := way == staged || way == pinned
	c.enqueue(l, k, apart || op.Hdr.Handler() < core.ExtendedHandlers)
	switch way {
	case staged:
		c.begun()
		*c.post() = Post{Buf: o.stages[stage][:op.Len], ID: idOf(ofStage, l, int(stage)), Peer: p.rank, Tag: tag}
	case pinned:
		c.begun()
		*c.post() = Post{Buf: op.Src, ID: c.pin(op), Peer: p.rank, Tag: tag}
	}
	c.sends = c.sends || apart
	if c.sends {
		c.progress()
	}
}

// nextTag returns the tag of the next payload that goes to the peer as a message of its own.
// Fewer are under way than there are tags, since each belongs to a request or its reply.
func (p *peer) nextTag() int32 {
	p.tag = (p.tag + 1) % tags
	return firstTag + p.tag
}

// enqueue sends a packet with one record, at once unless messages of the lane are packed and an
// earlier one has not left, or was sent after the last poll began. Then it waits, and collects what
// follows, until there is no room in it or a poll flushes it. What is urgent does not wait: what announces a
// payload, and core's barriers, after which their sender may poll no more.
func (c *conduit) enqueue(l lane, k *packet, urgent bool) {
	ol := &k.peer.lanes[l]
	wait := (c.pack == packAll || c.pack == packReplies && l == replies) && (ol.busy > 0 || ol.sent == c.polls) && !urgent
	if open := ol.open; open != nil {
		if record := k.buf[packetHeader:k.n]; len(record) <= c.packet-open.n {
			open.n += copy(open.buf[open.n:], record)
			c.proc.Charge(c.copying(len(record)))
			c.release(l, k)
			if wait {
				return
			}
			k = open
		} else {
			c.send(l, open)
		}
		ol.open = nil
		c.ended()
	}
	if !wait {
		c.send(l, k)
		return
	}
	ol.open = k
	c.begun()
	if !ol.opened {
		ol.opened = true
		c.opened[l] = append(c.opened[l], k.peer)
	}
}

// flush sends the open packets of all peers.
func (c *conduit) flush() {
	if len(c.opened[requests])+len(c.opened[replies]) > 0 {
		c.flushAll()
	}
}

func (c *conduit) flushAll() {
	for l := range lanes {
		for _, p := range c.opened[l] {
			ol := &p.lanes[l]
			if ol.opened = false; ol.open != nil {
				c.send(l, ol.open)
				ol.open = nil
				c.ended()
			}
		}
		c.opened[l] = c.opened[l][:0]
	}
}

// send completes the header of a packet, by which all that is owed to its receiver is told,
// and posts it.
func (c *conduit) send(l lane, k *packet) {
	p := k.peer
	putPacketHeader(k.buf, p.owed, !p.welcomed, k.n)
	p.held -= p.owed
	p.owed, p.welcomed = 0, true
	p.lanes[l].busy++
	p.lanes[l].sent = c.polls
	post := c.post()
	post.Buf, post.ID, post.Peer, post.Tag, post.Receive = k.buf[:k.n], k.id, p.rank, int32(l), false
	c.sends = true
}

// post adds one to the posts that begin with the next call of the transport, to be filled in where it is: to
// copy what has just been written field by field takes longer. It stays there until the next.
func (c *conduit) post() *Post {
	n := len(c.posts)
	if n == cap(c.posts) {
		c.posts = slices.Grow(c.posts, 1)
	}
	c.posts = c.posts[:n+1]
	return &c.posts[n]
}

// release gives a packet back to its pool.
func (c *conduit) release(l lane, k *packet) {
	k.peer = nil
	c.out[l].free = append(c.out[l].free, k)
}

// owe notes a request that is settled without a reply. Its sender is told in the next packet
// to it; a packet is sent for the purpose when half of its credits are owed. So a sender
// without credit is always told: as many as it has, less than half owed, came back by
// replies.
func (c *conduit) owe(p *peer) {
	if p.owed++; p.owed >= c.creditEvery() {
		c.indebted(p)
	}
}

func (c *conduit) creditEvery() int { return max(1, c.depth/2) }

// indebted has settle look at the peer.
func (c *conduit) indebted(p *peer) {
	if !p.debtor {
		p.debtor = true
		c.debtors = append(c.debtors, p)
	}
}

// settle tells peers what is owed to them and no other packet has told. For want of a packet
// it does so in a later poll.
func (c *conduit) settle() {
	o := &c.out[replies]
	left := c.debtors[:0]
	for _, p := range c.debtors {
		switch {
		case p.welcomed && p.owed < c.creditEvery():
			p.debtor = false
		case len(o.free) == 0:
			left = append(left, p)
		default:
			p.debtor = false
			k := o.free[len(o.free)-1]
			o.free = o.free[:len(o.free)-1]
			k.peer, k.n = p, packetHeader
			c.proc.Charge(c.costs.Build)
			c.send(replies, k)
		}
	}
	c.debtors = left
}

// copying returns what copying n bytes costs under the model.
func (c *conduit) copying(n int) vtime.Time { return c.costs.CopyKB * vtime.Time(n) / 1024 }
