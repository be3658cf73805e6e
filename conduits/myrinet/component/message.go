package component

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Message is what has come.
type Message struct {
	From  int // node
	Port  int // that it is for
	Group int // Multicast: to which it was sent, from 0 on; -1: to this node
	// Parts are its bytes. A message that has been copied out of the staging buffer, or has come into a posted one, has one
	// part; with Credits it is lent where it is, in as many parts as it had frames.
	Parts [][]byte

	c        *Baseline
	peer     *peer
	lent     int    // places of the staging buffer
	buffer   []byte // into which it was copied
	kept     bool
	handling bool
	released bool
	ended    func() // of a network without a component
}

// Len returns how many bytes the message has.
func (m *Message) Len() (n int) {
	for _, p := range m.Parts {
		n += len(p)
	}
	return n
}

// AppendTo appends the message to b: the program's own copy.
func (m *Message) AppendTo(b []byte) []byte {
	for _, p := range m.Parts {
		b = append(b, p...)
	}
	return b
}

// Keep has the message stay after the handler has returned, until Release. With Credits its sender has fewer credits meanwhile.
func (m *Message) Keep() { m.kept = true }

// Release gives a kept message back, which must not be used any more.
func (m *Message) Release() {
	if m.released {
		return
	}
	m.released = true
	switch {
	case m.handling:
	case m.ended != nil:
		m.ended()
	default:
		m.c.releaser(m)
	}
}

// assembly is a message on its way in.
type assembly struct {
	active  bool
	number  uint16
	port    uint16
	group   uint16
	posted  uint32 // the buffer that it comes into; 0: none
	next    uint16 // index
	total   uint32
	got     uint32
	buffer  []byte
	parts   [][]byte
	places  int // of the staging buffer, that are lent
	refused int // number of the last message that was refused, from 1 on
}

// process adds a frame to its message, and hands that over if it is whole.
func (c *Component[S]) process(e *entry) {
	h := &e.header
	p := c.peers[h.Source]
	if has[S](Rendezvous) && h.Kind == Grant {
		c.granting(p, h)
		return
	}
	in := &p.in
	if h.Index == 0 {
		if in.active {
			c.refuse(p) // the end of a message is missing
		}
		*in = assembly{
			active: true, number: h.Message, port: h.Port, group: h.Group, posted: h.Buffer, total: h.Total,
			buffer: in.buffer[:0], parts: in.parts[:0], refused: in.refused,
		}
	}
	fits := in.active && in.number == h.Message && in.next == h.Index && in.total == h.Total && in.port == h.Port &&
		(!has[S](Rendezvous) || in.posted == h.Buffer)
	in.next++
	in.got += uint32(h.Length)
	if fits {
		fits = c.taken(in, e) && in.got <= in.total
	} else if has[S](Credits) && e.place >= 0 {
		c.giveUp(p, 1)
	}
	if !fits {
		in.number, in.posted = h.Message, h.Buffer
		in.active = true
		c.refuse(p)
		if has[S](Rendezvous) && e.place < 0 && c.ends(h) {
			c.repost(h.Buffer) // the NIC has given it up with this frame
		}
		return
	}
	if in.got == in.total {
		c.deliver(p)
	}
}

// refuse drops a message that is not whole, and counts it once.
func (c *Component[S]) refuse(p *peer) {
	in := &p.in
	if !in.active {
		return
	}
	in.active = false
	if has[S](Credits) && in.places > 0 {
		c.giveUp(p, in.places)
		in.places = 0
	}
	if has[S](Rendezvous) {
		c.revoke(p, in.posted, in.number)
	}
	if in.refused != int(in.number)+1 {
		in.refused = int(in.number) + 1
		c.counts.Refused++
	}
}

// copyOut copies a frame out of the staging buffer, if nothing else has come there since. The tag is the first that is
// overwritten, so that it is enough to look at it afterwards.
func (c *Baseline) copyOut(in *assembly, e *entry) bool {
	memory := c.staging[e.place]
	n := int(e.header.Length)
	in.buffer = append(in.buffer, memory[e.offset:e.offset+n]...)
	if binary.BigEndian.Uint32(memory) != e.tag {
		c.counts.Overwritten++
		return false
	}
	c.counts.Staged += uint64(n)
	if in.got == in.total {
		in.parts = append(in.parts, in.buffer)
	}
	return true
}

// deliver hands a message to its handler.
func (c *Component[S]) deliver(p *peer) {
	in := &p.in
	in.active = false
	var m *Message
	if n := len(c.spare) - 1; n >= 0 {
		m, c.spare = c.spare[n], c.spare[:n]
	} else {
		m = new(Message)
	}
	*m = Message{
		From: p.node, Port: int(in.port), Group: int(in.group) - 1, Parts: append(m.Parts[:0], in.parts...),
		c: &c.Baseline, peer: p, lent: in.places, buffer: in.buffer, handling: true,
	}
	in.buffer, in.places = nil, 0
	if has[S](Rendezvous) && in.posted != 0 {
		c.grants.done(in.posted)
	}
	if has[S](Credits) && m.lent > 0 {
		p.lent.Push(m)
	}
	if f := c.handlers[in.port]; f != nil {
		c.counts.Messages++
		f(m)
	} else {
		c.counts.NoPort++
	}
	m.handling = false
	if !m.kept || m.released {
		m.released = true
		c.releases(m)
	}
}

// releases is the point-cut Released.
func (c *Component[S]) releases(m *Message) {
	if has[S](Traced) {
		c.report(Released, 0)
	}
	p := m.peer
	if p.in.buffer == nil {
		p.in.buffer = m.buffer[:0]
	}
	if has[S](Credits) {
		note(c, Released, Credits)
		if m.lent > 0 {
			c.giveBack(p)
			return
		}
	}
	c.spare = append(c.spare, m)
}

// choice is what Adaptive has measured.
type choice struct {
	copy vtime.Time // of a byte out of the staging buffer here, with what else the processor did meanwhile; 0: not known
}
