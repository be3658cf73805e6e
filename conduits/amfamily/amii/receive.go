package amii

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// received programs the next reception, and then looks at the packet that has come.
func (p *Program) received() {
	if p.net.Armable() {
		p.spend(p.profile.Steps.Arm, p.step.rearm)
	} else {
		p.spend(p.profile.Steps.Receive, p.step.classify)
	}
}

func (p *Program) rearm() {
	p.net.Arm()
	p.spend(p.profile.Steps.Receive, p.step.classify)
}

// classify drops what is not for an endpoint of the node that is resident, and has the payload of the rest stored.
func (p *Program) classify() {
	r, _ := p.net.Next()
	drop := func(counter *uint64) {
		*counter++
		p.net.Release()
	}
	bytes := r.Packet.Bytes()
	kind, typed := fabric.PacketType(bytes)
	number, ok := destOf(bytes)
	switch {
	case r.Verdict != fabric.Good:
		drop(&p.counts.Corrupt)
		return
	case typed && kind != am2Type:
		drop(&p.counts.Foreign)
		return
	case !typed || !ok:
		drop(&p.counts.Malformed)
		return
	}
	q := p.numbered[number]
	if q == nil {
		q = p.nobody
	}
	if q.place != resident {
		p.driver.missed(q)
		drop(&p.counts.Absent)
		return
	}
	in := incoming{q: q, packet: bytes, block: q.bundle.Block()}
	in.node, in.datagram, ok = decodeFrame(in.block.Bytes(), bytes)
	if !ok || in.node >= len(p.routes) {
		in.block.Release()
		drop(&p.counts.Malformed)
		return
	}
	head, _ := am2.HeadLen(in.datagram)
	in.kind, in.fragment = am2.FragmentKind(in.datagram)
	in.payload = p.profile.payloadOf(len(in.datagram), head)
	if in.fragment && q.staged == p.profile.AM2.Staging {
		in.block.Release()
		drop(&p.counts.NoStaging)
		return
	}
	q.pins++
	if in.payload == 0 {
		p.done = in
		p.spend(p.profile.Steps.Accept, p.step.accept)
		return
	}
	if in.fragment {
		q.staged++
	}
	p.enqueue(job{kind: storing, in: in, block: lanai.Block{
		Direction: lanai.ToHost, Host: p.memory.get(in.payload)[:in.payload], SRAM: bytes[len(bytes)-in.payload:],
	}})
}

// accept gives a packet, the payload of which is in the host's memory, to the protocol.
func (p *Program) accept() {
	in := p.done
	p.done = incoming{}
	q := in.q
	p.counts.Received++
	before := q.bundle.Stats()
	q.bundle.Receive(q.Now(), addressOf(in.node), in.block, in.datagram)
	if in.fragment {
		if after := q.bundle.Stats(); taken(&before, &after) {
			q.copies.Push(fragment{in.payload, in.kind})
			q.taken++
		} else {
			q.staged--
		}
	}
	in.block.Release()
	p.memory.put(in.packet)
	p.net.Release()
	q.pins--
	q.notify()
	q.attend()
}

// taken reports whether the protocol has taken the packet in that it was given between two counts.
func taken(before, after *am2.Stats) bool {
	return after.Duplicates == before.Duplicates && after.Dropped == before.Dropped && after.Malformed == before.Malformed &&
		after.RefusedPackets == before.RefusedPackets
}
