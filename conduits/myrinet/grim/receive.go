package grim

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// arm programs the receive DMA for the next packet, if there is a free buffer. Without a queue of control messages it wants room for the one that the
// packet may ask for too.
func (p *Program) arm() {
	if p.armed || p.room == 0 || p.image.NoControlQueue && p.answers() >= p.capacity {
		return
	}
	p.room--
	p.armed = true
	if a := p.blocked; a != nil {
		p.blocked = nil
		p.take(a)
	}
}

// Head implements fabric.NIC. The receive DMA takes the packet in if it is programmed; else the packet waits in the network.
func (p *Program) Head(a *fabric.Arrival) {
	if !p.armed || p.current != nil {
		p.counts.Held++
		p.blocked = a
		return
	}
	p.take(a)
}

func (p *Program) take(a *fabric.Arrival) {
	if p.current = p.spare; p.current == nil {
		p.current = new(transit.Buffer)
	} else {
		p.spare = p.current.Next
	}
	*p.current = transit.Buffer{Arrival: a, Packet: a.Packet()}
	p.nic.Works(lanai.Receive, true)
	a.Accept(0)
	if p.image.ITB {
		a.Watch(transit.HeaderSize)
	}
}

// Received implements fabric.NIC: the first bytes are there.
func (p *Program) Received(*fabric.Arrival, int) { p.nic.CPU.Raise(evEarly) }

// Tail implements fabric.NIC: the receive DMA is through.
func (p *Program) Tail(a *fabric.Arrival) {
	if p.blocked == a { // a time limit has ended it before it was taken in
		p.blocked = nil
		return
	}
	b := p.current
	b.Arrival, b.Packet, b.Verdict = nil, b.Packet.Cut(a.Len()-1), a.Verdict()
	p.nic.Works(lanai.Receive, false)
	p.nic.CPU.Raise(evRecv)
}

// received looks at the packet that has come. Before that it programs the next reception, unless that one's control message
// might find no room behind this one's.
func (p *Program) received() {
	if b := p.done; b != nil && !b.Transit { // the others are freeTransit's
		p.spares(b)
	}
	p.done, p.current, p.armed = p.current, nil, false
	if p.room > 0 && (!p.image.NoControlQueue || p.answers()+1 < p.capacity) {
		p.spend(p.profile.Steps.Arm, p.step.rearm)
		return
	}
	p.process()
}

func (p *Program) rearm() {
	p.arm()
	p.process()
}

func (p *Program) process() {
	if p.done.Transit {
		p.spend(p.profile.ITB.Done, p.step.transitEnds)
	} else {
		p.spend(p.profile.Steps.Receive, p.step.classify)
	}
}

// spares takes the record of a buffer that nobody looks at any more.
func (p *Program) spares(b *transit.Buffer) { b.Next, p.spare = p.spare, b }

// release frees a receive buffer.
func (p *Program) release() {
	p.room++
	p.arm()
}

// classify drops what is not for this NI, and does what GRIM's packets ask for.
func (p *Program) classify() {
	b := p.done
	n := &p.counts
	head := b.Packet.First(HeaderSize)
	size := b.Packet.Len() - 1
	var err error
	drop := func(counter *uint64) {
		*counter++
		p.release()
	}
	kind, typed := fabric.PacketType(head)
	switch {
	case b.Dropped: // and has been counted
		p.release()
		return
	case b.Verdict == fabric.Corrupt:
		drop(&n.Corrupt)
		return
	case b.Verdict == fabric.Truncated:
		drop(&n.Truncated)
		return
	case len(head) > 0 && fabric.IsRoute(head[0]):
		drop(&n.Stray)
		return
	case !typed:
		drop(&n.Malformed)
		return
	case kind != PacketType:
		drop(&n.Foreign)
		return
	}
	switch t, _ := TypeOf(head); t {
	case AM, Multicast:
		if p.header, err = DecodeHeader(head, size); err == nil {
			p.classifyMessage(drop)
			return
		}
	case RMV, RMP, RMRV:
		if p.header, err = DecodeHeader(head, size); err == nil {
			if p.operation, err = DecodeOperation(&p.header, b.Packet.First(HeaderSize + maxExtension)[HeaderSize:]); err == nil {
				p.classifyMessage(drop)
				return
			}
		}
	case RMReply:
		if p.header, err = DecodeHeader(head, size); err == nil {
			if !p.classifyReply() {
				drop(&n.Unknown)
			}
			return
		}
	case ACK, NACK, DENY:
		if p.control, err = DecodeControl(b.Packet.First(size)); err == nil {
			p.spend(p.profile.Steps.Answered, p.step.answered)
			return
		}
	}
	drop(&n.Malformed)
}

// classifyMessage goes on with a message if it is for this NI, and from one that there is.
func (p *Program) classifyMessage(drop func(*uint64)) {
	node, _ := p.place(p.header.Destination)
	from, _ := p.place(p.header.Source)
	switch {
	case node != p.id:
		drop(&p.counts.Stray)
	case from >= p.nodes || int(p.header.Channel) >= len(p.channels):
		drop(&p.counts.Malformed)
	default:
		steps := p.profile.Steps.Accept + p.pair()
		if p.image.Incoming {
			steps += p.profile.Steps.Incoming
		}
		p.spend(steps, p.step.accept)
	}
}

// accept takes a message in if it is the next one of its flow, and the endpoint has room for it.
func (p *Program) accept() {
	h, n := &p.header, &p.counts
	_, local := p.place(h.Destination)
	from, _ := p.place(h.Source)
	in := p.inflows.At(p.flowIndex(local, from, int(h.Channel)))
	p.answer = control{from, Control{Token: h.Token, Sequence: h.Sequence, Type: ACK, Source: h.Destination}}
	switch {
	case p.timeOuts != nil && before(h.Sequence, in.expected):
		p.repeated(in, local)
		return
	case h.Sequence != in.expected && in.nacked:
		n.Dropped++
		p.note(Drops, h.Sequence, h.Token)
		p.release()
		return
	case h.Sequence != in.expected:
		n.Gap++
		p.release()
		return
	}
	p.target = p.channels[local].owner
	switch e := p.target; {
	case p.answers() >= p.capacity:
		p.refuseLater(in)
		return
	case in.held:
		p.refuseNow(in)
		return
	case h.Type == Multicast:
		p.acceptMulticast(in)
		return
	case h.Type != AM:
		p.acceptRM(in, local)
		return
	case e == nil:
		n.NoEndpoint++
	default:
		queued, ok := p.takesIn(e, p.done.Packet)
		if !ok {
			p.refuseNow(in)
			return
		}
		n.Received++
		p.note(Accepts, h.Sequence, h.Token)
		if queued {
			p.target = nil // it goes no further now
		}
	}
	p.admitted(in)
	if p.target == nil {
		p.spend(p.profile.Steps.Control, p.step.refuse)
	} else {
		p.spend(p.profile.Steps.Store, p.step.store)
	}
}

// refuseNow answers the expected message of a flow by a NACK.
func (p *Program) refuseNow(in *inflow) {
	p.counts.Refused++
	p.note(Refuses, p.header.Sequence, p.header.Token)
	in.nacked = true
	p.answer.message.Type = NACK
	p.spend(p.profile.Steps.Control, p.step.refuse)
}

// answers returns how many control messages the queue has, or must have room for.
func (p *Program) answers() int { return p.controls.Len() + p.owed }

// refuseLater refuses the expected message of a flow when the queue of control messages is full. The NACK follows when the link is free: that it is owed is noted with the flow, so that there
// is always room. Else an NI whose queue is full would take nothing in, not even what the others wait for that hold up its own messages.
func (p *Program) refuseLater(in *inflow) {
	p.counts.Refused++
	p.counts.PutOff++
	p.note(Refuses, p.header.Sequence, p.header.Token)
	if p.timeOuts == nil || !in.nacked { // with time-outs the message may have come again before its NACK has left
		in.nacked = true
		p.answer.message.Type = NACK
		p.late.Push(p.answer)
		p.nic.CPU.Raise(evScan) // the queue may be full of what is only owed, and the link be free
	}
	p.release()
}

// refuse answers a message that goes no further.
func (p *Program) refuse() {
	p.respond()
	p.release()
}

// startStore moves a message to the room that the endpoint has reserved for it, and acknowledges it.
func (p *Program) startStore() {
	e, bytes := p.target, p.done.Packet.Bytes()
	p.deposit([]lanai.Block{{Direction: lanai.ToHost, Host: e.reserved(bytes), SRAM: bytes, Written: (*arrival)(e)}}, store{})
	p.spend(p.profile.Steps.Control, p.step.respond)
}

// endLoad lets messages be sent whose payloads have come from the host.
func (p *Program) endLoad() {
	for p.loading.Len() > 0 && p.loading.At(0).end <= p.load.Finished() {
		l, _ := p.loading.Pop()
		l.message.loaded = true
	}
	for i := range p.channels {
		if e := p.channels[i].owner; e != nil {
			e.returned()
		}
	}
	p.nic.CPU.Raise(evScan)
}

// answered does what a control message asks for.
func (p *Program) answered() {
	c := &p.control
	p.port.Free(p.done.Packet)
	defer p.release()
	m := p.inFlight(c.Token, c.Sequence, c.Source)
	remote := m != nil && typeIn(m.bytes) != AM
	if m == nil || c.Type == DENY && !remote || c.Type == ACK && typeIn(m.bytes) == RMRV {
		p.counts.Unknown++
		return
	}
	p.nic.CPU.Raise(evScan)
	switch {
	case c.Type == NACK:
	case remote:
		p.complete(m, c.Type == DENY)
		return
	default:
		p.note(Acknowledged, c.Sequence, c.Token)
		p.owner(m).acknowledge(m)
		p.settle(m)
		return
	}
	p.note(RolledBack, c.Sequence, c.Token)
	p.counts.Rollbacks++
	p.settle(m)
	if c := p.owner(m); c.pause != nil {
		c.pause.Reset(p.loop.Now() + p.profile.GRIM.Pause)
	}
	p.spend(p.rollback(m)*p.profile.Steps.Rollback, p.step.rolled)
}

// rollback has a message and what was sent behind it to the same destination sent again, and returns how many messages they are.
func (p *Program) rollback(m *message) (n int) {
	sequence := m.bytes[sequenceByte]
	if p.image.PerNI { // nobody can tell which channels have sent what was dropped behind the message
		for i := range p.channels {
			n += p.channels[i].rollback(m.flow, sequence)
		}
	} else {
		n = p.owner(m).rollback(m.flow, sequence)
	}
	if t := m.track; t == nil || sequence-t.base < m.flow.next-t.base { // a NACK may come late: what is before it may be due again by a time-out
		m.flow.next = sequence
	}
	return n
}
