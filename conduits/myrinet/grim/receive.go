package grim

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// arm programs the receive DMA for the next packet, if there is a free buffer, and room for the control message that the
// packet may ask for.
func (p *Program) arm() {
	if p.armed || p.room == 0 || p.controls.Len() >= p.capacity {
		return
	}
	p.room--
	p.armed = true
	if a := p.waiting; a != nil {
		p.waiting = nil
		p.take(a)
	}
}

// Head implements fabric.NIC. The receive DMA takes the packet in if it is programmed; else the packet waits in the network.
func (p *Program) Head(a *fabric.Arrival) {
	if !p.armed || p.current != nil {
		p.counts.Held++
		p.waiting = a
		return
	}
	p.take(a)
}

func (p *Program) take(a *fabric.Arrival) {
	p.current = &transit.Buffer{Arrival: a, Packet: a.Packet()}
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
	if p.waiting == a { // a time limit has ended it before it was taken in
		p.waiting = nil
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
	p.done, p.current, p.armed = p.current, nil, false
	if p.room > 0 && p.controls.Len()+1 < p.capacity {
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
	case AM:
		if p.header, err = DecodeHeader(head, size); err == nil {
			p.classifyMessage(drop)
			return
		}
	case ACK, NACK:
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
		p.spend(p.profile.Steps.Accept+p.pair(), p.step.accept)
	}
}

// accept takes a message in if it is the next one of its flow, and the endpoint has room for it.
func (p *Program) accept() {
	h, n := &p.header, &p.counts
	_, local := p.place(h.Destination)
	from, _ := p.place(h.Source)
	in := &p.inflows[p.flowIndex(local, from, int(h.Channel))]
	switch {
	case p.timeOuts != nil && before(h.Sequence, in.expected):
		n.Duplicate++
		p.answer = control{from, Control{Token: h.Token, Sequence: h.Sequence, Type: ACK, Source: h.Destination}}
		p.spend(p.profile.Steps.Control, p.step.refuse)
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
	p.answer = control{from, Control{Token: h.Token, Sequence: h.Sequence, Type: ACK, Source: h.Destination}}
	p.target = p.channels[local].owner
	switch e := p.target; {
	case e == nil:
		n.NoEndpoint++
	case e.reserve(p.done.Packet.Len() - 1):
		n.Received++
		p.note(Accepts, h.Sequence, h.Token)
	default:
		n.Refused++
		p.note(Refuses, h.Sequence, h.Token)
		in.nacked = true
		p.answer.message.Type = NACK
		p.spend(p.profile.Steps.Control, p.step.refuse)
		return
	}
	in.expected++
	in.nacked = false
	if p.target == nil {
		p.spend(p.profile.Steps.Control, p.step.refuse)
	} else {
		p.spend(p.profile.Steps.Store, p.step.store)
	}
}

// refuse answers a message that goes no further.
func (p *Program) refuse() {
	p.respond()
	p.release()
}

// startStore moves a message to the room that the endpoint has reserved for it, and acknowledges it.
func (p *Program) startStore() {
	e, bytes := p.target, p.done.Packet.Bytes()
	block := lanai.Block{Direction: lanai.ToHost, Host: e.reserved(), SRAM: bytes, Terminal: true, Signal: true, Written: (*arrival)(e)}
	if err := p.store.Append(block); err != nil {
		panic(err) // the chain has a block for each receive buffer
	}
	if err := p.store.Start(); err != nil {
		panic(err)
	}
	p.spend(p.profile.Steps.Control, p.step.respond)
}

// endStore frees the buffers of messages that are in the host's memory.
func (p *Program) endStore() {
	for p.stored < p.store.Finished() {
		p.stored++
		p.release()
	}
}

// endLoad lets messages be sent whose payloads have come from the host.
func (p *Program) endLoad() {
	for p.loaded < p.load.Finished() {
		p.loaded++
		m, _ := p.loading.Pop()
		m.loaded = true
	}
	p.nic.CPU.Raise(evScan)
}

// answered does what an ACK or a NACK asks for.
func (p *Program) answered() {
	c := &p.control
	defer p.release()
	var m *message
	if int(c.Token) < len(p.scoreboard) {
		m = p.scoreboard[c.Token]
	}
	if m == nil || m.state != sent && (p.timeOuts == nil || m.state != notSent) || m.to != c.Source || m.bytes[sequenceByte] != c.Sequence {
		p.counts.Unknown++
		return
	}
	p.nic.CPU.Raise(evScan)
	if c.Type == ACK {
		p.note(Acknowledged, c.Sequence, c.Token)
		if p.timeOuts != nil {
			p.acceptedBefore(m, c.Sequence+1)
		} else {
			p.channelOf(m).acknowledge(m)
		}
		return
	}
	p.note(RolledBack, c.Sequence, c.Token)
	p.counts.Rollbacks++
	if p.timeOuts != nil {
		p.acceptedBefore(m, c.Sequence)
	}
	p.spend(p.rollback(m)*p.profile.Steps.Rollback, p.step.rolled)
}

// channelOf returns the channel of a message that has a token.
func (p *Program) channelOf(m *message) *channel {
	return &p.channels[int(m.bytes[tokenByte])/(tokens/len(p.channels))]
}

// rollback has a message and what was sent behind it to the same destination sent again, and returns how many messages they are.
func (p *Program) rollback(m *message) (n int) {
	sequence := m.bytes[sequenceByte]
	if p.image.PerNI { // nobody can tell which channels have sent what was dropped behind the message
		for i := range p.channels {
			n += p.channels[i].rollback(m.flow, sequence)
		}
	} else {
		n = p.channelOf(m).rollback(m.flow, sequence)
	}
	m.flow.next = sequence
	return n
}
