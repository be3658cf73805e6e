package grim

import "github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"

// look looks at the type of a packet whose first bytes have come.
func (p *Program) look() {
	b := p.current
	ruling := p.transit.Look(b, !p.busy)
	if b.Pooled() {
		p.room++
	}
	switch ruling {
	case transit.Malformed:
		p.counts.Malformed++
	case transit.Now:
		p.spend(p.profile.ITB.Program, p.step.forward)
	case transit.Later:
		p.nic.CPU.Raise(evScan)
	}
}

// forward sends a packet in transit on.
func (p *Program) forward() {
	if p.transit.Leaves() {
		p.starts()
		p.transit.Forward()
		return
	}
	p.counts.Malformed++
	p.freeTransit(p.transit.Left())
	p.nic.CPU.Raise(evScan)
}

// transitEnds is through with a packet in transit, which has come as a whole.
func (p *Program) transitEnds() { p.freeTransit(p.transit.Came(p.done)) }

// freeTransit frees the buffer of a packet in transit; nil: it is not free yet.
func (p *Program) freeTransit(b *transit.Buffer) {
	if b == nil {
		return
	}
	if !p.transit.Release(b) {
		p.room++
	}
	if p.done == b {
		p.done = nil
	}
	p.port.Free(b.Packet)
	p.spares(b)
	p.arm()
}
