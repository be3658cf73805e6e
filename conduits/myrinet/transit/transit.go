package transit

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Options say how a program deals with packets in transit.
type Options struct {
	// BySend has the part of the program that sends re-inject them, and not the one that receives: that takes another dispatch
	// cycle.
	BySend bool
	// Pool is how many buffers there are for them, besides the receive queue's. Coll proposes such a pool, and built none. Without it
	// they occupy the receive queue until they have left.
	Pool int
	// Drop has a packet dropped that cannot be sent at once and for which there is no buffer in the pool: its sender must send it
	// again. Otherwise it holds a buffer of the receive queue, and when that is full, the network.
	Drop bool
}

// Check returns an error if there can be no such options.
func (o Options) Check() error {
	if o.Pool < 0 {
		return fmt.Errorf("transit: a pool of %d buffers", o.Pool)
	}
	return nil
}

// Steps are the instructions that a program with in-transit support carries out besides.
type Steps struct {
	Early   int `machine:"early"`   // the type of what is coming is looked at
	Test    int `machine:"test"`    // whether a packet in transit is pending, each time that the send DMA is free
	Program int `machine:"program"` // length of the route, addresses, and the send DMA
	Done    int `machine:"done"`    // the end of a packet in transit
}

// Counts is what has become of packets in transit so far.
type Counts struct {
	InTransit  uint64 // packets that were sent on
	CutThrough uint64 // of them, those whose end had not come yet
	Pending    uint64 // of them, those that had to wait for the send DMA
	Overflow   uint64 // packets dropped for lack of buffers
}

// Buffer is a receive buffer with its packet.
type Buffer struct {
	Arrival *fabric.Arrival // until its tail is in
	Packet  fabric.Packet   // which is coming, or has come
	Verdict fabric.Verdict  // when it has come
	Taken   bool            // it has a packet
	Transit bool            // which is in transit
	Dropped bool            // or is to be dropped, and has been counted
	Next    *Buffer         // the owner's

	pooled, came, left bool
}

// Pooled tells whether the buffer counts for the pool, and not for the receive queue.
func (b *Buffer) Pooled() bool { return b.pooled }

// Ruling is what is to be done with a packet of which the first bytes are there.
type Ruling uint8

// The rulings.
const (
	Ends      Ruling = iota // it is not in transit
	Malformed               // nobody sends such: it is dropped, when it has come
	Dropped                 // there is no buffer for it: likewise
	Now                     // it is sent on by Forward, when Steps.Program have been carried out
	Later                   // it is pending
)

// Transit is what a program keeps of packets in transit. One at a time is being sent on.
type Transit struct {
	options Options
	port    Port
	counts  *Counts
	pool    int // buffers that are free
	pending fifo.Queue[*Buffer]
	sending *Buffer
}

// Init makes the state ready, for packets that leave by a port. What happens is counted in counts.
func (t *Transit) Init(o Options, port Port, counts *Counts) {
	*t = Transit{options: o, port: port, counts: counts, pool: o.Pool}
}

// Look looks at the first HeaderSize bytes of a packet, which are there and no more: a leg that is longer than what follows is
// sent on, and ends at the switch that finds no route byte. free says that the program sends nothing.
// If the pool gives the buffer (Pooled), the receive queue has another one.
func (t *Transit) Look(b *Buffer, free bool) Ruling {
	head := b.Packet.First(HeaderSize)
	if kind, ok := fabric.PacketType(head); !ok || kind != Type {
		return Ends
	}
	if _, err := Decode(head); err != nil {
		b.Dropped = true
		return Malformed
	}
	atOnce := free && t.port.Idle() && t.pending.Len() == 0
	switch {
	case t.pool > 0:
		t.pool--
		b.pooled = true
	case t.options.Drop && !atOnce:
		b.Dropped = true
		t.counts.Overflow++
		return Dropped
	}
	b.Transit = true
	if !atOnce {
		t.counts.Pending++
	}
	if atOnce && !t.options.BySend {
		t.sending = b
		return Now
	}
	t.pending.Push(b)
	return Later
}

// Waiting returns how many packets are pending.
func (t *Transit) Waiting() int { return t.pending.Len() }

// Pool returns how many buffers of the pool are free.
func (t *Transit) Pool() int { return t.pool }

// Next takes the first pending packet, which Forward sends on. The program sends nothing.
func (t *Transit) Next() { t.sending, _ = t.pending.Pop() }

// Leaves tells whether the packet that Look or Next has chosen can be sent on. Of a packet that has come, something must
// be behind the type; of one that is coming, it is not known yet.
func (t *Transit) Leaves() bool {
	b := t.sending
	if b.Arrival != nil { // the type is there, so this is no look at what is to come
		return b.Arrival.Len() > HeaderSize
	}
	return b.Packet.Len() > HeaderSize+1
}

// Forward sends it on: one that is still coming as it comes, however little of it will follow. Nothing is known of its CRC, which
// stays what it is.
func (t *Transit) Forward() {
	b := t.sending
	t.counts.InTransit++
	if b.Arrival != nil {
		t.counts.CutThrough++
		t.port.Forward(b.Arrival, HeaderSize)
	} else {
		t.port.InjectAs(b.Packet.Skip(HeaderSize), b.Verdict)
	}
}

// Left says that the send DMA is through, or that the packet does not leave. It returns its buffer if that is free now: the packet has
// come as a whole, too. It returns nil if what was sent was not in transit.
func (t *Transit) Left() *Buffer {
	b := t.sending
	if b == nil {
		return nil
	}
	t.sending, b.left = nil, true
	return t.free(b)
}

// Came says that all of a packet in transit is in. It returns the buffer if that is free now: the packet has left.
func (t *Transit) Came(b *Buffer) *Buffer {
	b.came = true
	return t.free(b)
}

func (t *Transit) free(b *Buffer) *Buffer {
	if !b.came || !b.left {
		return nil
	}
	return b
}

// Release gives a buffer back to the pool, and reports whether it is the pool's. Buffers of the receive queue are the program's.
func (t *Transit) Release(b *Buffer) bool {
	if b.pooled {
		t.pool++
	}
	return b.pooled
}
