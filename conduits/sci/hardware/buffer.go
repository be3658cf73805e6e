package hardware

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// buffers are where an adapter keeps the bursts that came in until they have crossed the bus.
// Bursts cross in the order in which they came, so the buffers are taken and become free in
// turn.
type buffers struct {
	free        []vtime.Time // ring: when each buffer is free again
	turn        int          // the one that is taken next
	first, last *packet      // bursts that wait, linked by behind
}

// admit gives a buffer to a burst that the receiving half has taken in, or has it wait.
func (n *Node) admit(p *packet) {
	b := &n.buffers
	switch {
	case b.first != nil:
		b.last.behind, b.last = p, p
	case b.free[b.turn] <= p.when:
		n.occupy(p)
	default:
		b.first, b.last = p, p
		p.come(n, board, b.free[b.turn])
	}
}

// board gives a buffer, which is free at a time, to the burst that has waited longest. The one
// behind it then knows when the next buffer is free.
func (n *Node) board(free vtime.Time) {
	b := &n.buffers
	p := b.first
	b.first, p.behind, p.when = p.behind, nil, free
	n.occupy(p)
	if b.first != nil {
		b.first.come(n, board, b.free[b.turn])
	}
}

// occupy has a burst take the next buffer and leave across the bus.
func (n *Node) occupy(p *packet) {
	b := &n.buffers
	b.free[b.turn] = p.cross()
	b.turn = next(b.turn, len(b.free))
}
