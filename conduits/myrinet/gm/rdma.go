package gm

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// storePacket has the payload of a packet put where it belongs, and an event behind it if it ends the message.
func (g *Program) storePacket(c *connection, b *transit.Buffer, payload []byte) {
	in, h := &c.in, &g.header
	s := store{buffer: b, port: in.port}
	at := in.length
	in.length += len(payload)
	whole := h.First && h.Last
	if !whole || len(payload) > int(g.profile.GM.Fast) {
		s.payload, s.memory = payload, in.buffer.bytes[at:in.length]
		payload = nil
	}
	if h.Last {
		s.event = in.port.receiveEvent(in.buffer, int(h.Sender), h.SenderPort, in.length, payload)
		in.buffer = nil
	}
	g.stores.Push(s)
	g.nic.CPU.Raise(evStore)
}

// store begins with what comes first, if the chain has room for it. RDMA.
func (g *Program) store() {
	if g.stores.Len() > 0 && g.rdma.Room() >= 2 {
		g.item, _ = g.stores.Pop()
		g.spend(g.profile.Steps.Store, g.step.store)
	}
}

// startStore has the host DMA carry it out.
func (g *Program) startStore() {
	s := g.item
	g.item = store{}
	var blocks [2]lanai.Block
	n := 0
	if len(s.payload) > 0 {
		blocks[n] = lanai.Block{Direction: lanai.ToHost, Host: s.memory, SRAM: s.payload}
		n++
	}
	if s.event != nil {
		slot, memory := s.port.eventSlot(len(s.event))
		blocks[n] = lanai.Block{Direction: lanai.ToHost, Host: memory, SRAM: s.event, Written: s.port, Word: slot}
		n++
	}
	blocks[n-1].Terminal, blocks[n-1].Signal = true, true
	g.issueBlock(g.rdma, blocks[:n]...)
	g.issued += uint64(n)
	s.done = g.issued
	g.storing.Push(s)
	if g.stores.Len() > 0 {
		g.nic.CPU.Raise(evStore)
	}
}

// endStores frees the buffers of what is in the host's memory. RDMA.
func (g *Program) endStores() {
	for g.storing.Len() > 0 && g.storing.At(0).done <= g.rdma.Finished() {
		s, _ := g.storing.Pop()
		if s.buffer != nil {
			g.release(s.buffer)
		}
	}
	if g.stores.Len() > 0 {
		g.nic.CPU.Raise(evStore)
	}
}
