package gm

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// takeToken takes what a host has rung for: a message, or a receive buffer. SDMA.
func (g *Program) takeToken() {
	ring, ok := g.bells.Next()
	if !ok {
		return
	}
	if g.bells.Waiting() > 0 {
		g.nic.CPU.Raise(evBell)
	}
	t := g.host.rung(ring.Value)
	if t == nil {
		return
	}
	if g.routes[t.node] == nil {
		g.report(t, ErrNoRoute)
		return
	}
	c := g.connection(t.node)
	c.tokens.Push(t)
	g.offer(c)
}

// offer has SDMA look at a connection that may have something to send. Messages without a route wait for one until their
// tries are over.
func (g *Program) offer(c *connection) {
	if _, set := c.timer.Set(); !set && c.tokens.Len() > 0 && g.routes[c.node] == nil {
		c.restart(g.profile.GM.Resend)
	}
	if !c.queued && c.mayIssue() {
		c.queued = true
		g.sendable.Push(c)
	}
	if g.sendable.Len() > 0 && g.slots > 0 {
		g.nic.CPU.Raise(evSDMA)
	}
}

// mayFetch begins with a fragment, if there is one and room in the send queue. SDMA.
func (g *Program) mayFetch() {
	if g.slots > 0 && g.sendable.Len() > 0 {
		g.spend(g.profile.Steps.Fragment, g.step.fragment)
	}
}

// fetch makes a packet of the next fragment, and has its payload fetched. The route is stamped here. Connections
// take turns.
func (g *Program) fetch() {
	c, _ := g.sendable.Pop()
	c.queued = false
	if !c.mayIssue() { // an ACK or NACK has come meanwhile, or the route has been taken away
		g.offer(c)
		return
	}
	again := c.next != c.high
	h, payload := c.issue()
	route := g.routes[c.node]
	head := make([]byte, 0, len(route)+HeaderSize+len(payload))
	head = h.Append(append(head, route...))
	f := fragment{packet: fabric.Packet{Head: head}}
	g.slots--
	g.counts.Sent++
	if again {
		g.counts.Resent++
	}
	if len(payload) == 0 {
		f.loaded = g.sdma.Finished()
		g.loading.Push(f)
		g.nic.CPU.Raise(evLoaded)
	} else {
		f.packet.Body = head[len(head) : len(head)+len(payload)]
		b := lanai.Block{Direction: lanai.FromHost, Host: payload, SRAM: f.packet.Body, Terminal: true, Signal: true}
		g.issueBlock(g.sdma, b)
		g.fetched++
		f.loaded = g.fetched
		g.loading.Push(f)
	}
	g.offer(c)
}

// issueBlock appends a block for which there is room, and starts the chain.
func (g *Program) issueBlock(c *lanai.DMAChain, blocks ...lanai.Block) {
	for _, b := range blocks {
		if err := c.Append(b); err != nil {
			panic(err) // the ring has a block for each buffer
		}
	}
	if err := c.Start(); err != nil {
		panic(err)
	}
}

// enqueue puts fragments that have come into the send queue. SDMA.
func (g *Program) enqueue() {
	for g.loading.Len() > 0 && g.loading.At(0).loaded <= g.sdma.Finished() {
		f, _ := g.loading.Pop()
		g.loaded.Push(f)
	}
	if g.loaded.Len() > 0 {
		g.nic.CPU.Raise(evSend)
	}
}
