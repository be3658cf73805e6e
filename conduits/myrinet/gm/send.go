package gm

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// choose looks for something to send if the send DMA is free. A program with in-transit support first tests
// whether an in-transit packet is pending. Send.
func (g *Program) choose() {
	switch {
	case g.busy || !g.port.Idle():
	case g.image.ITB:
		g.spend(g.profile.ITB.Test, g.step.choosing)
	default:
		g.pick()
	}
}

// pick takes what comes first: in-transit packets, which hold receive buffers; then answers; then the mapper's
// packets and messages.
func (g *Program) pick() {
	switch {
	case g.transit.Waiting() > 0:
		g.transit.Next()
		g.spend(g.profile.ITB.Program, g.step.transit)
	case g.controls.Len() > 0:
		g.spend(g.profile.Steps.Control, g.step.control)
	case g.mappings.Len()+g.loaded.Len() > 0:
		g.spend(g.profile.Steps.Send, g.step.send)
	}
}

// sendControl sends an ACK or a NACK.
func (g *Program) sendControl() {
	c, _ := g.controls.Pop()
	h := c.control
	h.Target, h.Sender, h.Sequence = uint32(c.node), uint32(g.id), c.expected
	c.control = Header{}
	route := g.routes[c.node]
	if route == nil {
		g.choose() // the route has been taken away: the node will ask again
		return
	}
	g.counts.Controls++
	g.inject(fabric.Packet{Head: h.Append(append(make([]byte, 0, len(route)+HeaderSize), route...))})
}

// sendFragment sends a packet of the mapper, or the first of the send queue.
func (g *Program) sendFragment() {
	if packet, ok := g.mappings.Pop(); ok {
		g.inject(packet)
		return
	}
	f, _ := g.loaded.Pop()
	g.frees = true
	g.inject(f.packet)
}

// inject starts the send DMA.
func (g *Program) inject(packet fabric.Packet) {
	g.starts()
	g.port.Inject(packet)
}

// starts notes that the send DMA begins to work.
func (g *Program) starts() {
	g.busy = true
	g.nic.Works(lanai.Send, true)
}

// Sent implements fabric.NIC; the program sets no mark.
func (g *Program) Sent(*fabric.Sending, int) {}

// Gone implements fabric.NIC: the send DMA is through.
func (g *Program) Gone(*fabric.Sending) {
	if now, ok := g.port.NIC().(*Program); ok && now != g {
		now.nic.CPU.Raise(evSend)
	}
	g.nic.Works(lanai.Send, false)
	g.nic.CPU.Raise(evSent)
}

// free frees what has left, and sends the next packet. Send.
func (g *Program) free() {
	g.busy = false
	g.mayRelease(g.transit.Left())
	if g.frees {
		g.frees = false
		g.slots++
		if g.sendable.Len() > 0 {
			g.nic.CPU.Raise(evSDMA)
		}
	}
	g.choose()
}

// resend has connections whose time is over go back to what is not acknowledged, or gives their messages up; and forgets messages
// of nodes that are silent. Send.
func (g *Program) resend() {
	for _, c := range g.conns {
		if c != nil && c.silent {
			c.forget()
		}
		if c == nil || !c.late {
			continue
		}
		c.late = false
		if c.tokens.Len() == 0 {
			continue
		}
		g.counts.TimeOuts++
		if c.tries++; c.tries > g.profile.GM.Tries {
			why := ErrUnreachable
			if g.routes[c.node] == nil {
				why = ErrNoRoute
			}
			c.fail(c.tokens.Len(), why)
			continue
		}
		c.waits = false
		// Nodes whose packets have collided must not try again at equal times for ever.
		c.restart(g.profile.GM.Resend + vtime.Time(g.chance.Int64N(int64(g.profile.GM.Resend))))
		c.seek(c.acked)
		g.offer(c)
	}
}
