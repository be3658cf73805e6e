package component

import (
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// reliable is what Reliability keeps of a node: go-back-N. Traits.Window of 1 is the paper's protocol, which waits for the
// acknowledgement after each frame.
type reliable struct {
	// Frames to the node.
	number  uint32                // of the next
	base    uint32                // of the first that is not acknowledged
	unacked fifo.Queue[*outgoing] //
	cursor  int                   // of the next in unacked that is sent again; its length: none
	timer   *vtime.Timer          //
	late    bool                  // it has fired
	tries   int                   // in a row
	dead    bool                  // it does not answer

	expected uint32 // of the next frame from the node
	owes     bool   // an acknowledgement, in Baseline.acks
}

// again tells whether a frame is to be sent again.
func (r *reliable) again() bool { return r.cursor < r.unacked.Len() }

// repeated returns it.
func (r *reliable) repeated() *outgoing {
	r.cursor++
	return *r.unacked.At(r.cursor - 1)
}

// full tells whether no new frame may leave.
func (r *reliable) full(window int) bool { return r.unacked.Len() >= window }

// number gives a frame its number and keeps it.
func (c *Baseline) number(p *peer, f *outgoing, again bool) {
	if !again {
		f.header.Sequence = p.reliable.number
		p.reliable.number++
		p.unacked.Push(f)
		p.cursor = p.unacked.Len()
	}
	if _, set := p.timer.Set(); !set {
		p.timer.Reset(c.loop.Now() + c.traits.Timeout)
	}
}

// sequence tells whether a frame is the next one, and has each acknowledged that is for this node. Of an acknowledgement it
// frees what that is for.
func (c *Component[S]) sequence(p *peer, h *Header) bool {
	if h.Kind == Ack {
		c.acknowledged(p, h.Sequence)
		return true
	}
	if !p.owes {
		p.owes = true
		c.acks.Push(p)
		c.nic.CPU.Raise(evSend)
	}
	switch d := int32(h.Sequence - p.expected); {
	case d < 0:
		c.counts.Duplicate++
		return false
	case d > 0:
		c.counts.Gap++
		return false
	}
	p.expected++
	return true
}

// acknowledged frees the frames before a number.
func (c *Component[S]) acknowledged(p *peer, before uint32) {
	n := int(int32(before - p.base))
	if n <= 0 || n > p.unacked.Len() {
		return // it is late, or nobody sends such
	}
	p.base = before
	for range n {
		f, _ := p.unacked.Pop()
		c.release(f, nil)
	}
	p.cursor, p.tries = max(0, p.cursor-n), 0
	p.timer.Stop()
	if p.unacked.Len() > 0 {
		p.timer.Reset(c.loop.Now() + c.traits.Timeout)
	}
	c.offer(p)
}

// sendAck acknowledges what has come from a node.
func (c *Component[S]) sendAck() {
	p, _ := c.acks.Pop()
	p.owes = false
	h := Header{Kind: Ack, Source: uint16(c.self), Target: uint16(p.node), Sequence: p.expected}
	if has[S](Active) {
		h.Flags = Reliability | setOf[S]()&Credits
	}
	if has[S](Credits) {
		h.Freed = p.freed // nobody knows whether it arrives: it counts as told by frames that are sent again
	}
	c.counts.Acks++
	c.inject(p.node, &h, nil)
}

// lateTimer is the time-outs of nodes.
type lateTimer Baseline

// Fire implements vtime.Target.
func (t *lateTimer) Fire(node, _ uint64) {
	t.peers[node].late = true
	t.nic.CPU.Raise(evTimer)
}

// Label implements vtime.Labelled.
func (t *lateTimer) Label(_, _ uint64) string { return "component: time-out" }

// resendLate goes back to the first frame that is not acknowledged, or gives the node up.
func (c *Component[S]) resendLate() {
	for _, p := range c.peers {
		if p == nil || !p.late {
			continue
		}
		p.late = false
		if p.unacked.Len() == 0 {
			continue
		}
		c.counts.TimeOuts++
		if p.tries++; p.tries > c.traits.Tries {
			p.dead = true
			c.loop.At(c.loop.Now()+c.profile.Host.Visible, c.target, uint64(p.node), nodeDead)
		} else {
			p.cursor = 0
			p.timer.Reset(c.loop.Now() + c.traits.Timeout)
		}
		c.offer(p)
	}
}

// abandon gives up what is for a node that does not answer.
func (c *Component[S]) abandon(p *peer) {
	p.timer.Stop()
	for _, q := range []*fifo.Queue[*outgoing]{&p.unacked, &p.control, &p.out} {
		for q.Len() > 0 && ((*q.At(0)).slot == nil || (*q.At(0)).slot.loaded) {
			f, _ := q.Pop()
			c.release(f, ErrUnreachable)
		}
	}
	p.cursor = 0
}
