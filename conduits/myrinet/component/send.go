package component

import "github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"

// takeToken takes an entry out of the Tx FIFO Queue: a frame of the Send Ring. A small one is there, a large one is fetched.
func (c *Component[S]) takeToken() {
	r, ok := c.bells.Next()
	if !ok {
		return
	}
	if c.bells.Waiting() > 0 {
		c.nic.CPU.Raise(evBell)
	}
	c.unblock()
	c.token = &c.slots[r.Value]
	if c.token.large {
		if err := c.tx.Start(); err != nil {
			panic(err) // the host has written the block before the doorbell
		}
	}
	if has[S](atAddressed) {
		if steps := c.addressed(c.token); steps > 0 {
			c.spend(steps, c.step.spread)
			return
		}
	}
	c.spread()
}

// spread queues the frame for whom it is for.
func (c *Component[S]) spread() {
	s := c.token
	s.refs = 0
	if s.large {
		c.loading.Push(s)
	}
	if has[S](Multicast) && s.to.peer == nil {
		s.refs = 1 // until it is queued for all
		for _, node := range c.groups[s.to.group-1].members {
			c.queue(c.peers[node], s)
		}
		c.drop(s, nil)
		return
	}
	c.queue(s.to.peer, s)
}

func (c *Component[S]) queue(p *peer, s *txSlot) {
	f := c.record()
	f.header, f.slot = s.header, s
	f.header.Target = uint16(p.node)
	s.refs++
	p.out.Push(f)
	c.offer(p)
}

// loadedFrames notes which frames have been fetched.
func (c *Component[S]) loadedFrames() {
	for c.loading.Len() > 0 && (*c.loading.At(0)).fetched <= c.tx.Finished() {
		s, _ := c.loading.Pop()
		s.loaded = true
		c.counts.Fetched++
		c.counts.HostToNIC += uint64(s.header.Length)
		if has[S](Multicast) && s.to.peer == nil {
			for _, node := range c.groups[s.to.group-1].members {
				c.offer(c.peers[node])
			}
		} else {
			c.offer(s.to.peer)
		}
	}
	c.unblock()
}

// first returns the next frame to a node, if it is in the Send Ring, or nil.
func first[S any](p *peer) *outgoing {
	if has[S](Credits|Rendezvous) && p.control.Len() > 0 {
		return *p.control.At(0)
	}
	if p.out.Len() > 0 && (*p.out.At(0)).slot.loaded {
		return *p.out.At(0)
	}
	return nil
}

// offer has a node's next frame sent as soon as it is its turn, if it may leave.
func (c *Component[S]) offer(p *peer) {
	if has[S](Reliability) && p.dead {
		c.abandon(p)
		return
	}
	if !p.queued && c.mayLeave(p) {
		p.queued = true
		c.sendable.Push(p)
		c.nic.CPU.Raise(evSend)
	}
}

// mayLeave tells whether a node's next frame may leave.
func (c *Component[S]) mayLeave(p *peer) bool {
	if has[S](atReady) {
		return c.ready(p)
	}
	return first[S](p) != nil
}

// choose looks for something to send if the send DMA is free: acknowledgements first, then nodes by turns.
func (c *Component[S]) choose() {
	switch {
	case !c.net.Idle():
	case has[S](Reliability) && c.acks.Len() > 0:
		c.spend(c.profile.Steps.Send+c.profile.Protocol.Ack, c.step.ack)
	case c.sendable.Len() > 0:
		c.spend(c.cost.leave, c.step.leave)
	}
}

// leave sends the next frame of a node.
func (c *Component[S]) leave() {
	p, _ := c.sendable.Pop()
	p.queued = false
	if has[S](Reliability) && p.dead || !c.mayLeave(p) {
		c.offer(p)
		c.choose()
		return
	}
	var f *outgoing
	again := has[S](Reliability) && p.again()
	switch {
	case again:
		f = p.repeated()
		c.counts.Resent++
	case has[S](Credits|Rendezvous) && p.control.Len() > 0:
		f, _ = p.control.Pop()
	default:
		f, _ = p.out.Pop()
	}
	if !has[S](atLeaving) || !c.leaving(p, f, again) {
		c.sending = f
	}
	var payload []byte
	if f.slot != nil {
		payload = f.slot.bytes[:f.header.Length]
	}
	c.inject(p.node, &f.header, payload)
	c.offer(p)
}

// inject makes the packet and starts the send DMA. The packet belongs to the network from now on.
func (c *Component[S]) inject(node int, h *Header, payload []byte) {
	route := c.routes[node]
	packet := append(make([]byte, 0, len(route)+c.header+len(payload)), route...)
	packet = append(Append[S](h, packet), payload...)
	c.counts.Sent++
	c.net.Send(fabric.Packet{Head: packet})
}

// free frees what has left, and sends the next frame.
func (c *Baseline) free() {
	c.net.Ended()
	if f := c.sending; f != nil {
		c.sending = nil
		c.release(f, nil)
	}
	c.step.choose()
}

// record returns a record of a frame.
func (c *Baseline) record() *outgoing {
	if n := len(c.records) - 1; n >= 0 {
		f := c.records[n]
		c.records = c.records[:n]
		return f
	}
	return new(outgoing)
}

// release is through with a frame: it has left, been acknowledged, or failed.
func (c *Baseline) release(f *outgoing, err error) {
	s := f.slot
	*f = outgoing{}
	c.records = append(c.records, f)
	if s != nil {
		c.drop(s, err)
	}
}

// drop needs a place of the Send Ring once less. When nobody does, it is free, and if it was the last of a message the host is
// told.
func (c *Baseline) drop(s *txSlot, err error) {
	if err != nil && s.message.err == nil {
		s.message.err = err
	}
	if s.refs--; s.refs > 0 {
		return
	}
	m := s.message
	s.message, s.to = nil, nil
	c.sendRing.free(s.index)
	m.frames--
	c.mayEnd(m)
	c.unblock()
}
