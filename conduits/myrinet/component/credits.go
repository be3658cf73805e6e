package component

import "github.com/aqueduct-go/aqueduct/internal/fifo"

// credited is what Credits keeps of a node. The staging buffer is shared out: each other node has Staging/(nodes-1) places of
// its own, and as many credits. A frame there is lent to the program where it is, and not copied (see lends); its place is free, and the
// credit goes back, when the program has released the message, and those before it from the same node.
type credited struct {
	taken uint32 // credits, for frames to the node, so far
	back  uint32 // credits that have come back

	filled uint32               // places that frames of the node have taken, so far
	freed  uint32               // places that are free again
	told   uint32               // what the node has been told of that
	due    bool                 // it is to be told, in Baseline.due
	lent   fifo.Queue[*Message] // messages of the node that the program has, in order
}

// staged tells whether a frame is for the staging buffer.
func staged(f *outgoing) bool { return f.header.Kind == Data && f.header.Buffer == 0 }

// credit tells whether another frame may leave.
func (p *credited) credit(share int) bool { return p.taken-p.back < uint32(share) }

// take takes a credit for a frame that leaves, and lets it tell the node of places that are free again.
func (p *credited) take(f *outgoing, again bool) {
	if !again && staged(f) {
		p.taken++
	}
	f.header.Freed, p.told = p.freed, p.freed
}

// returned notes credits that have come back; what was said before counts no more.
func (p *credited) returned(freed uint32) bool {
	if n := freed - p.back; n == 0 || n > p.taken-p.back {
		return false
	}
	p.back = freed
	return true
}

// own returns the next place of a node in the staging buffer, or -1.
func (c *Baseline) own(p *peer) int {
	if p.filled-p.freed >= uint32(c.share) {
		return -1
	}
	rank := p.node
	if rank > c.self {
		rank--
	}
	p.filled++
	return rank*c.share + int((p.filled-1)%uint32(c.share))
}

// lends tells whether a frame of the staging buffer is lent. A message of more frames than its sender has credits would never be
// whole: it is copied frame by frame, as without credits.
func (c *Component[S]) lends(h *Header) bool {
	mtu := uint64(c.mtuOf(h))
	return (uint64(h.Total)+mtu-1)/mtu <= uint64(c.share)
}

// lend adds a frame to a message where it is.
func (c *Baseline) lend(in *assembly, e *entry) {
	in.parts = append(in.parts, c.staging[e.place][e.offset:e.offset+int(e.header.Length)])
	in.places++
}

// giveUp gives places back that no message needs, behind those of messages before.
func (c *Baseline) giveUp(p *peer, n int) {
	p.lent.Push(&Message{lent: n, released: true})
	c.giveBack(p)
}

// giveBack gives the places of messages back that have been released, in order.
func (c *Baseline) giveBack(p *peer) {
	n := 0
	for p.lent.Len() > 0 && (*p.lent.At(0)).released {
		m, _ := p.lent.Pop()
		n += m.lent
		if m.peer != nil {
			c.spare = append(c.spare, m)
		}
	}
	if n > 0 {
		c.give(p, n)
	}
}

// give has the host tell the NIC that places are free again.
func (c *Baseline) give(p *peer, n int) {
	c.nic.HostWrite(creditSize, (*given)(c), uint64(p.node), uint64(n))
}

// given is the host's word on its way.
type given Baseline

// Fire implements vtime.Target. The node is told by the next frame that leaves for it, or by one of its own when half of its
// places are free that it does not know of.
func (g *given) Fire(node, n uint64) {
	p := g.peers[node]
	p.freed += uint32(n)
	if !p.due && p.freed-p.told >= uint32(max(1, g.share/2)) {
		p.due = true
		(*Baseline)(g).due.Push(p)
		g.nic.CPU.Raise(evCredit)
	}
}

// Label implements vtime.Labelled.
func (g *given) Label(_, _ uint64) string { return "component: places given back" }

// sendCredits makes frames that say nothing else.
func (c *Component[S]) sendCredits() {
	for c.due.Len() > 0 {
		p, _ := c.due.Pop()
		p.due = false
		if p.freed == p.told {
			continue // another frame has said so meanwhile
		}
		f := c.record()
		f.header = Header{Kind: Credit, Source: uint16(c.self), Target: uint16(p.node)}
		p.control.Push(f)
		c.counts.Credits++
		c.offer(p)
	}
}
