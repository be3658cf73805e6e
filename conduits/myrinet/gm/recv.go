package gm

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// arm programs the receive DMA for the next packet, if there is a free buffer.
func (g *Program) arm() {
	if g.current != nil || g.queue == 0 {
		return
	}
	g.queue--
	b := g.idle
	if b == nil {
		b = new(transit.Buffer)
	} else {
		g.idle = b.Next
		*b = transit.Buffer{}
	}
	g.current = b
	if a := g.waiting; a != nil {
		g.waiting = nil
		g.take(a)
	}
}

// release frees a receive buffer, and has the receive DMA programmed if it is not.
func (g *Program) release(b *transit.Buffer) {
	if !g.transit.Release(b) {
		g.queue++
	}
	b.Next, g.idle = g.idle, b
	g.arm()
}

// Head implements fabric.NIC. The receive DMA takes the packet in if it is programmed; else the packet waits in
// the network.
func (g *Program) Head(a *fabric.Arrival) {
	if g.current == nil || g.current.Taken {
		g.counts.Held++
		g.waiting = a
		return
	}
	g.take(a)
}

// take has the receive DMA take a packet in.
func (g *Program) take(a *fabric.Arrival) {
	b := g.current
	b.Arrival, b.Packet, b.Taken = a, a.Packet(), true
	g.nic.Works(lanai.Receive, true)
	a.Accept(0)
	if g.image.ITB {
		a.Watch(transit.HeaderSize) // these bytes raise Early Recv Packet (Coll, 3.4)
	}
}

// Received implements fabric.NIC: Early Recv Packet.
func (g *Program) Received(*fabric.Arrival, int) { g.nic.CPU.Raise(evEarly) }

// Tail implements fabric.NIC: the receive DMA is through.
func (g *Program) Tail(a *fabric.Arrival) {
	if g.waiting == a { // the time limit has ended it before it was taken in
		g.waiting = nil
		return
	}
	b := g.current
	b.Arrival, b.Verdict = nil, a.Verdict()
	b.Packet = b.Packet.Cut(a.Len() - 1)
	g.nic.Works(lanai.Receive, false)
	g.nic.CPU.Raise(evRecv)
}

// Reset implements fabric.NIC. The port has called Tail for what there was.
func (g *Program) Reset(*fabric.Port) {}

// look looks at the type of the packet whose first bytes have come. Recv, at Early Recv Packet.
func (g *Program) look() {
	b := g.current
	ruling := g.transit.Look(b, !g.busy)
	if b.Pooled() {
		g.queue++
	}
	switch ruling {
	case transit.Malformed:
		g.counts.Malformed++
	case transit.Now:
		g.spend(g.profile.ITB.Program, g.step.transit)
	case transit.Later:
		g.nic.CPU.Raise(evSend)
	}
}

// forward sends an in-transit packet on. Recv or Send.
func (g *Program) forward() {
	if g.transit.Leaves() {
		g.starts()
		g.transit.Forward()
		return
	}
	g.counts.Malformed++
	g.mayRelease(g.transit.Left())
	g.choose()
}

// received programs the next reception, and then looks at the packet that has come. Recv.
func (g *Program) received() {
	g.done, g.current = g.current, nil
	if g.queue > 0 {
		g.spend(g.profile.Steps.Arm, g.step.rearm)
		return
	}
	g.process()
}

func (g *Program) rearm() {
	g.arm()
	g.process()
}

func (g *Program) process() {
	if g.done.Transit {
		g.spend(g.profile.ITB.Done, g.step.finished)
	} else {
		g.spend(g.profile.Steps.Receive, g.step.classify)
	}
}

// transitEnds is through with an in-transit packet; its buffer is free when it has left, too.
func (g *Program) transitEnds() { g.mayRelease(g.transit.Came(g.done)) }

// mayRelease frees the buffer of an in-transit packet, if the packet has come and has left.
func (g *Program) mayRelease(b *transit.Buffer) {
	if b != nil {
		g.release(b)
	}
}

// classify drops what is not for GM, and does what GM's packets ask for.
func (g *Program) classify() {
	b := g.done
	if g.refused(b) {
		g.release(b)
		return
	}
	if g.header.Kind == Data {
		g.spend(g.profile.Steps.Accept, g.step.accept)
	} else {
		g.spend(g.profile.Steps.Answered, g.step.answered)
	}
}

// refused counts a packet that is none of GM, or bad, and tells whether it is. Otherwise its header has been read.
func (g *Program) refused(b *transit.Buffer) bool {
	if b.Dropped {
		return true
	}
	n := &g.counts
	switch b.Verdict {
	case fabric.Corrupt:
		n.Corrupt++
		return true
	case fabric.Truncated:
		n.Truncated++
		return true
	}
	head := b.Packet.First(HeaderSize)
	t, ok := fabric.PacketType(head)
	switch {
	case !ok && len(head) > 0 && fabric.IsRoute(head[0]):
		n.Stray++
		return true
	case !ok:
		n.Malformed++
		return true
	case t == TypeMapping && g.mapping != nil:
		g.mapping(b.Packet)
		return true
	case t != TypeGM:
		n.Foreign++
		return true
	}
	h, err := DecodeHeader(head, b.Packet.Len()-1-HeaderSize)
	switch {
	case err != nil || int(h.Sender) >= len(g.conns):
		n.Malformed++
		return true
	case int(h.Target) != g.id:
		n.Stray++
		return true
	}
	g.header = h
	return false
}

// acceptData takes a packet of a message in, if it is the next one.
func (g *Program) acceptData() {
	b, h := g.done, &g.header
	c := g.connection(int(h.Sender))
	n := &g.counts
	refuse := func(counter *uint64, k Kind, wait bool) {
		*counter++
		if k != 0 {
			c.answer(k, h, wait)
		}
		g.release(b)
	}
	switch c.judge(h) {
	case stale:
		refuse(&n.Duplicate, 0, false)
		return
	case unknown:
		refuse(&n.Gap, NACKOpen, false)
		return
	case duplicate:
		c.heard()
		refuse(&n.Duplicate, ACK, false)
		return
	case gap:
		c.heard()
		if c.nacked {
			refuse(&n.Gap, 0, false)
		} else {
			c.nacked = true
			refuse(&n.Gap, NACK, false)
		}
		return
	}
	c.nacked = true // if it is refused: what follows is not NACKed besides
	payload := b.Packet.Skip(HeaderSize).Bytes()
	switch port := g.openPort(h.TargetPort); {
	case c.refused != 0: // the sender does not know yet, or has sent it twice
		refuse(&n.NoBuffer, c.refused, false)
	case port == nil || c.in.buffer != nil && c.in.port != port:
		c.drop()
		c.refused = NACKDown
		refuse(&n.NoBuffer, NACKDown, false)
	case h.First && port.sizes[h.TargetPort&1]>>h.Class&1 == 0:
		c.drop()
		c.refused = NACKReject
		refuse(&n.NoBuffer, NACKReject, false)
	case h.First && !c.start(port, h):
		if c.patient() {
			refuse(&n.NoBuffer, NACK, true)
			return
		}
		c.refused = NACKNoBuffer
		refuse(&n.NoBuffer, NACKNoBuffer, false)
	case c.in.buffer == nil || c.in.length+len(payload) > len(c.in.buffer.bytes):
		c.drop()
		c.refused = NACKReject
		refuse(&n.Malformed, NACKReject, false)
	default:
		n.Received++
		c.nacked, c.lacks = false, false
		c.expected++
		g.storePacket(c, b, payload)
		c.heard()
		c.answer(ACK, h, false)
	}
}

// openPort returns the port of a subport, or nil if that is closed.
func (g *Program) openPort(subport uint8) *Port {
	if n := int(subport >> 1); n < len(g.host.ports) {
		return g.host.ports[n]
	}
	return nil
}

// start begins with a message, if the port has a receive buffer for it.
func (c *connection) start(port *Port, h *Header) bool {
	c.drop() // of a message that its sender has begun anew
	t := port.takeBuffer(h.Class, h.TargetPort&1)
	if t == nil {
		return false
	}
	c.in = assembly{port: port, buffer: t}
	return true
}

// answered does what an ACK or a NACK asks for.
func (g *Program) answered() {
	b, h := g.done, &g.header
	defer g.release(b)
	c := g.conns[h.Sender]
	switch {
	case c == nil:
		g.counts.Unknown++
		return
	case h.Kind == NACKClose && c.id != 0 && h.TargetConn == c.id && h.SenderConn == c.program && after(h.Session, c.peer) > 0:
		c.begin(h.Session)
		return
	case h.Kind == NACKClose, h.TargetConn != g.self, h.Session != c.session, c.tokens.Len() == 0, (h.SenderConn == c.known) == (h.Kind == NACKOpen):
		g.counts.Unknown++ // it is late
		return
	case h.Kind == NACKOpen:
		c.known = h.SenderConn
		c.renew()
		g.offer(c)
		return
	}
	if !c.acknowledge(h.Sequence) {
		g.counts.Unknown++
		return
	}
	switch {
	case h.Kind == NACK && h.Last:
		c.block()
	case h.Kind == NACK:
		c.seek(c.acked)
	case h.Kind == NACKDown:
		c.fail(1, ErrPortClosed)
	case h.Kind == NACKReject:
		c.fail(1, ErrRejected)
	case h.Kind == NACKNoBuffer:
		c.fail(1, ErrNoBuffer)
	}
	g.offer(c)
}
