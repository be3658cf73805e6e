package component

import (
	"encoding/binary"
	"errors"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// arm programs the receive DMA for the next frame, if the Receive Ring has room.
func (c *Baseline) arm() {
	if c.current != nil || c.receiveRing.room() == 0 {
		return
	}
	c.current = &c.frames[c.receiveRing.take()]
	c.current.taken = false
	if a := c.waiting; a != nil {
		c.waiting = nil
		c.take(a)
	}
}

// freeFrame frees a place of the Receive Ring.
func (c *Baseline) freeFrame(b *rxSlot) {
	c.receiveRing.free(b.index)
	c.arm()
}

// Head implements fabric.NIC. Without room in the Receive Ring the frame waits in the network.
func (g *program) Head(a *fabric.Arrival) {
	c := (*Baseline)(g)
	if c.current == nil || c.current.taken {
		c.counts.Held++
		c.waiting = a
		return
	}
	c.take(a)
}

func (c *Baseline) take(a *fabric.Arrival) {
	c.current.taken = true
	c.nic.Works(lanai.Receive, true)
	a.Accept(0)
}

// Received implements fabric.NIC; the program sets no mark.
func (g *program) Received(*fabric.Arrival, int) {}

// Tail implements fabric.NIC: the receive DMA is through.
func (g *program) Tail(a *fabric.Arrival) {
	if g.waiting == a { // the time limit has ended it before it was taken in
		g.waiting = nil
		return
	}
	b, packet := g.current, a.Packet()
	b.verdict, b.n = a.Verdict(), max(0, a.Len()-1)
	to := b.bytes[tagSize:]
	if b.long = b.n > len(to); !b.long {
		n := copy(to[:b.n], packet.Head)
		copy(to[n:b.n], packet.Body)
	}
	g.nic.Works(lanai.Receive, false)
	g.nic.CPU.Raise(evRecv)
}

// Reset implements fabric.NIC. The port has called Tail for what there was.
func (g *program) Reset(*fabric.Port) {}

// received programs the next reception, and then looks at the frame that has come.
func (c *Baseline) received() {
	c.done, c.current = c.current, nil
	c.spend(c.profile.Steps.Arm, c.step.rearm)
}

func (c *Baseline) rearm() {
	c.arm()
	c.spend(c.cost.arrive, c.step.classify)
}

// classify drops what is no frame for this node, and does what frames ask for.
func (c *Component[S]) classify() {
	b := c.done
	h, payload, ok := c.legible(b)
	if !ok {
		c.freeFrame(b)
		return
	}
	p := c.peers[h.Source]
	c.counts.NICToNIC += uint64(h.Length)
	if has[S](atArrived) && !c.arrived(p, &h) {
		c.freeFrame(b)
		return
	}
	c.counts.Received++
	switch {
	case h.Kind == Data:
		s, ok := c.where(p, &h, b, payload)
		if !ok {
			c.freeFrame(b)
			return
		}
		c.put(s)
		return
	case has[S](Active) && h.Kind == Capsule:
		c.carried.peer, c.carried.port = p, h.Port
		c.carried.unit = payload
		c.spend(c.profile.Protocol.Evaluate, c.step.evaluate)
		return
	case has[S](Rendezvous) && h.Kind == Request:
		c.want(p, &h)
	case has[S](Rendezvous) && h.Kind == Grant:
		c.put(store{entry: entry{header: h, place: -1}})
	}
	c.freeFrame(b)
}

// legible reads a frame, and counts what is none.
func (c *Component[S]) legible(b *rxSlot) (h Header, payload []byte, ok bool) {
	n := &c.counts
	switch {
	case b.verdict == fabric.Corrupt:
		n.Corrupt++
		return h, nil, false
	case b.verdict == fabric.Truncated:
		n.Truncated++
		return h, nil, false
	case b.long:
		n.Malformed++
		return h, nil, false
	}
	h, payload, err := Decode[S](b.bytes[tagSize:][:b.n])
	switch {
	case errors.Is(err, errNoFrame):
		n.Foreign++
	case err != nil || int(h.Source) >= len(c.peers) || len(payload) > c.traits.MTU:
		n.Malformed++
	case int(h.Target) != c.self || int(h.Source) == c.self:
		n.Stray++
	default:
		return h, payload, true
	}
	return h, nil, false
}

// stage returns what puts a frame into a place of the staging buffer, with a tag that tells it from those before and after it
// there. The tag is the first that is written.
func (c *Baseline) stage(h *Header, b *rxSlot, place, payload int) store {
	memory := c.staging[place]
	tag := c.issuedTag()
	binary.BigEndian.PutUint32(b.bytes, tag)
	n := tagSize + b.n
	return store{slot: b, sram: b.bytes[:n], host: memory[:n], entry: entry{header: *h, place: place, tag: tag, offset: n - payload}}
}

// issuedTag returns the next tag; 0 is that of a place that was never used.
func (c *Baseline) issuedTag() uint32 {
	if c.tags++; c.tags == 0 {
		c.tags++
	}
	return c.tags
}

// put has something go to the host.
func (c *Baseline) put(s store) {
	c.stores.Push(s)
	c.nic.CPU.Raise(evStore)
}

// mayStore begins with what comes first, if both the Rx DMA Requests and the Rx FIFO Queue have room for it.
func (c *Baseline) mayStore() {
	if c.stores.Len() > 0 && c.rx.Room() > 0 && c.used < c.traits.RxFIFO {
		c.spend(c.profile.Steps.Store, c.step.store)
	}
}

// startStore has the host DMA carry it out.
func (c *Baseline) startStore() {
	s, _ := c.stores.Pop()
	c.used++
	if len(s.sram) > 0 {
		if err := c.rx.Append(lanai.Block{Direction: lanai.ToHost, Host: s.host, SRAM: s.sram, Terminal: true, Signal: true}); err != nil {
			panic(err) // there is room
		}
		if err := c.rx.Start(); err != nil {
			panic(err)
		}
		c.issued++
	} else {
		c.nic.CPU.Raise(evStored)
	}
	s.done = c.issued
	c.storing.Push(s)
	if c.stores.Len() > 0 {
		c.nic.CPU.Raise(evStore)
	}
}

// endStores makes entries of the Rx FIFO Queue of what is in the host's memory, and frees the Receive Ring.
func (c *Baseline) endStores() {
	for c.storing.Len() > 0 && c.storing.At(0).done <= c.rx.Finished() {
		s, _ := c.storing.Pop()
		if s.slot != nil {
			c.counts.NICToHost += uint64(s.entry.header.Length)
			c.freeFrame(s.slot)
		}
		c.entries.Push(s.entry)
		c.loop.At(c.loop.Now()+c.profile.Host.Visible, c.target, 0, entrySeen)
	}
	if c.stores.Len() > 0 {
		c.nic.CPU.Raise(evStore)
	}
}
