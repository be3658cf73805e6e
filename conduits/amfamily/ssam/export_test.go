package ssam

// Unlimited takes the windows away.
func (p *Process) Unlimited() {
	for i := range p.partners {
		p.partners[i].room = 1 << 30
	}
}

// Inject has a cell come to the process's workstation.
func (p *Process) Inject(from int, reply, last bool, seq uint16, data []byte) {
	c := p.device.k.card
	c.come.Push(cell{from: from, to: p.ID(), program: p.device.program, reply: reply, last: last, seq: seq, data: data})
	c.Fire(arrived, 0)
}

// Waiting returns how many cells are in the input FIFO, and how many the kernel has put into the process's memory.
func (p *Process) Waiting() (fifo, memory int) {
	return p.device.k.card.input.Len(), p.device.received.Len()
}

// Decode is for tests.
var Decode = decode
