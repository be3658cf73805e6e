package component

import (
	"encoding/binary"
	"errors"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// freeFrame frees a place of the Receive Ring, and with it the buffers for packets that come: as many as the ring has room for.
func (c *Baseline) freeFrame(b *rxSlot) {
	before := c.receiveRing.room()
	c.receiveRing.free(b.index)
	for range c.receiveRing.room() - before {
		c.net.Release()
	}
}

// rearm programs the next reception, and then looks at the frame that has come, which gets the next place of the Receive Ring.
func (c *Baseline) rearm() {
	c.net.Arm()
	r, ok := c.net.Next()
	if !ok {
		return
	}
	b := &c.frames[c.receiveRing.take()]
	b.verdict, b.n = r.Verdict, r.Packet.Len()-1 // the CRC stays in the network
	if to := b.bytes[tagSize:]; b.n <= len(to) {
		n := copy(to[:b.n], r.Packet.Head)
		copy(to[n:b.n], r.Packet.Body)
	}
	c.done = b
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
	case b.n > len(b.bytes)-tagSize:
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
