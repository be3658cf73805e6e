package hpam

import "github.com/aqueduct-go/aqueduct/internal/fifo"

// Card is a Medusa card, a station of the ring. What the processor does with it takes the times of the bus, which whoever
// calls it charges.
type Card struct {
	Overflowed uint64 // frames dropped because no receive buffer was free
	Fullest    int    // receive buffers that were taken at once, at most

	// Hazards counts what a process must not do: use a card that is not its own at the time, or write to a buffer that is
	// to be sent. There are none unless the protocol is wrong.
	Hazards uint64

	ring  *Ring
	id    int
	tx    fifo.Queue[*sendBuffer] // TX_READY_FIFO
	rx    fifo.Queue[frame]       // RX_READY_FIFO, in buffers of the pool
	free  int                     // receive buffers
	ready func()                  // a frame has come
	idle  func()                  // a buffer has left
}

// A sendBuffer is a buffer in the card's memory with what the processor knows of it.
type sendBuffer struct {
	data   []byte
	to     int
	queued bool // its pointer is in the TX_READY_FIFO, or it is being sent
}

// post puts the pointer of a buffer into the TX_READY_FIFO, where it must not be.
func (c *Card) post(b *sendBuffer) {
	b.queued = true
	c.tx.Push(b)
	c.ring.wanted()
}

// busy tells whether something is to be sent.
func (c *Card) busy() bool {
	return c.tx.Len() > 0 || c.ring.sending != nil && c.ring.holder == c.id
}

func (c *Card) next() (*sendBuffer, bool) {
	if c.tx.Len() == 0 {
		return nil, false
	}
	return *c.tx.At(0), true
}

// sent is told that a buffer has left.
func (c *Card) sent(b *sendBuffer) {
	b.queued = false
	if c.idle != nil {
		c.idle()
	}
}

// receive puts a frame in a receive buffer.
func (c *Card) receive(f frame) {
	if c.free == 0 {
		c.Overflowed++
		c.ring.recycle(f)
		return
	}
	c.free--
	c.Fullest = max(c.Fullest, c.ring.p.HPAM.Pool-c.free)
	c.rx.Push(f)
	if c.ready != nil {
		c.ready()
	}
}

// release gives a receive buffer back to the pool.
func (c *Card) release() { c.free++ }
