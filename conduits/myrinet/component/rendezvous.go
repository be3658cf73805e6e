package component

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// rendezvous is what Rendezvous keeps of a node: the message that it wants to send, and the buffer that this one has.
type rendezvous struct {
	wants  bool // in grants.waiting
	number uint16
	total  uint32
	buffer uint32 // granted, and not filled; 0: none

	price   vtime.Time // Adaptive: of a rendezvous with the node, from request to grant
	copy    vtime.Time // Adaptive: of a byte out of the staging buffer there
	skipped int        // Adaptive: messages that have made none
}

// grants are the posted buffers, in the NIC's memory.
type grants struct {
	table   []posted
	posts   uint64 // so far
	waiting fifo.Queue[*peer]
}

// posted is a buffer of the program.
type posted struct {
	bytes []byte // nil: none
	order uint64 // of those that can be granted: the smallest first; 0: it cannot
}

// Post gives the component a buffer for a message that makes a rendezvous. The first that is large enough is taken, and is the
// program's again with the message in it. It fails with ErrNoRoom if Traits.Posted are posted.
func (c *Baseline) Post(b []byte) error {
	if err := c.needs(Rendezvous, "Post"); err != nil {
		return err
	}
	if len(b) == 0 {
		return fmt.Errorf("component: an empty buffer is posted")
	}
	for i := range c.grants.table {
		if t := &c.grants.table[i]; t.bytes == nil {
			t.bytes = b
			c.loop.At(c.cpu.Use(c.loop.Now(), c.profile.Host.Message), (*posting)(c), uint64(i), 0)
			return nil
		}
	}
	return ErrNoRoom
}

// posting is a buffer on its way to the NIC.
type posting Baseline

// Fire implements vtime.Target.
func (g *posting) Fire(i, written uint64) {
	if written == 0 {
		g.nic.HostWrite(postedSize, g, i, 1)
		return
	}
	(*Baseline)(g).repost(uint32(i) + 1)
}

// Label implements vtime.Labelled.
func (g *posting) Label(_, _ uint64) string { return "component: buffer posted" }

// repost has a buffer granted again, which no message has any more.
func (c *Baseline) repost(buffer uint32) {
	g := &c.grants
	g.posts++
	g.table[buffer-1].order = g.posts
	c.nic.CPU.Raise(evMatch)
}

// revoke takes the buffer of a message that is refused back. The NIC drops what still comes for it. If the NIC has given the buffer up
// already, with the last frame or as the node wants another one, it may be that of another message: it is left alone.
func (c *Baseline) revoke(p *peer, buffer uint32, number uint16) {
	if buffer != 0 && p.buffer == buffer && p.rendezvous.number == number {
		p.buffer = 0
		c.repost(buffer)
	}
}

// done gives a buffer back to the program.
func (g *grants) done(buffer uint32) { g.table[buffer-1] = posted{} }

// request has a message ask for a buffer, if it is long, or worth it as far as Adaptive knows.
func (c *Baseline) request(m *message, to *address, weighed bool) {
	if to.peer == nil || m.kind != Data || to.peer.active&Rendezvous == 0 || len(m.data) == 0 {
		return
	}
	m.asks = len(m.data) >= c.traits.Long
	if weighed {
		m.asks = m.long
	}
}

// want notes that a node wants a buffer. A buffer that it had for a message which is not whole is for others again.
func (c *Baseline) want(p *peer, h *Header) {
	c.revoke(p, p.buffer, p.rendezvous.number)
	p.rendezvous.number, p.total = h.Message, h.Total
	if !p.wants {
		p.wants = true
		c.grants.waiting.Push(p)
	}
	c.nic.CPU.Raise(evMatch)
}

// match grants buffers to those that want one, each the one that was posted first of those that are large enough.
func (c *Component[S]) match() {
	g := &c.grants
	for range g.waiting.Len() {
		p, _ := g.waiting.Pop()
		best := -1
		for i := range g.table {
			t := &g.table[i]
			if t.order != 0 && uint64(len(t.bytes)) >= uint64(p.total) && (best < 0 || t.order < g.table[best].order) {
				best = i
			}
		}
		if best < 0 {
			g.waiting.Push(p)
			continue
		}
		p.wants = false
		p.buffer = uint32(best) + 1
		g.table[best].order = 0
		f := c.record()
		f.header = Header{
			Kind: Grant, Source: uint16(c.self), Target: uint16(p.node), Message: p.rendezvous.number, Buffer: p.buffer,
			Total: uint32(min(c.choice.copy, 1<<31)),
		}
		p.control.Push(f)
		c.offer(p)
	}
}

// granting has the message go on whose buffer has been granted.
func (c *Component[S]) granting(p *peer, h *Header) {
	to := p.own
	if !to.waits || (*to.messages.At(0)).number != h.Message {
		return // it has failed meanwhile
	}
	m := *to.messages.At(0)
	m.buffer = h.Buffer
	to.waits = false
	if has[S](Adaptive) {
		p.rendezvous.learn(c.loop.Now()-m.asked, vtime.Time(h.Total))
	}
	c.queueAddress(to)
	c.drive()
}

// granted returns the memory for a frame in the buffer that its message has, or nil.
func (c *Baseline) granted(p *peer, h *Header, mtu int) []byte {
	end := int(h.Index)*mtu + int(h.Length)
	if h.Buffer != p.buffer || h.Total != p.total || h.Message != p.rendezvous.number || h.Length == 0 || end > int(p.total) {
		return nil
	}
	if end == int(p.total) {
		p.buffer = 0
	}
	return c.grants.table[h.Buffer-1].bytes[end-int(h.Length) : end]
}

// ends tells whether a frame is the last of its message.
func (c *Component[S]) ends(h *Header) bool {
	return uint64(h.Index)*uint64(c.mtuOf(h))+uint64(h.Length) == uint64(h.Total)
}

// filled adds a frame to a message that comes into a posted buffer.
func (c *Baseline) filled(in *assembly, e *entry) bool {
	if in.got == in.total {
		in.parts = append(in.parts, c.grants.table[e.header.Buffer-1].bytes[:in.total])
	}
	return true
}
