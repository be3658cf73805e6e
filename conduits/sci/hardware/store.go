package hardware

import (
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// wordSize is what a CPU stores or loads at a time, in bytes.
const wordSize = 8

// Store stores src at dst, which is memory of another node, at offset off of a segment; if it
// is memory of n's own, the bytes do not touch the network. The CPU is charged for storing
// word by word into its gather buffer. Each block of pio.block bytes, or part of one at either
// end, goes out as a burst of its own when the CPU has filled it; later stores are not gathered
// with the last part. src may be changed when Store returns; dst changes when the bytes arrive,
// block by block in the order of Store, and never earlier. Stores of n to one node arrive in
// the order of issue. When pio.outstanding bursts have no answer yet the CPU stalls.
//
// acct, which may be nil, learns what becomes of the stores. told, which may be nil, gets an
// Arrive as each block arrives. Only n's own proc may call Store.
func (n *Node) Store(to *Node, dst, src []byte, off int, acct *Account, told *vtime.Proc) {
	m, block := n.m, int(n.m.profile.PIO.Block)
	for len(src) > 0 {
		size := min(len(src), block-off&(block-1))
		n.proc.Charge(m.profile.PIO.Word * vtime.Time((size+wordSize-1)/wordSize))
		p := m.packet(store, n, to)
		p.place = int16(n.claim())
		p.dst, p.told = dst[:size], told
		p.carry(src[:size])
		if p.acct = acct; acct != nil {
			acct.peer, acct.last = to, p
			acct.open++
		}
		p.come(n, inject, n.proc.Now())
		dst, src, off = dst[size:], src[size:], off+size
	}
}

// Flush pushes the gather buffers of the CPU and the adapter out. Only n's own proc may call
// it.
func (n *Node) Flush() { n.proc.Charge(n.m.profile.PIO.Flush) }

// claim takes a place among the outstanding transactions. They are retired in the order of
// issue. If the oldest has no answer yet the CPU stalls until it has.
func (n *Node) claim() (place int) {
	place = n.oldest
	if n.window[place] > n.proc.Now() && n.window[place] == notYet {
		n.takeIn()
	}
	if n.window[place] > n.proc.Now() {
		n.stall()
	}
	n.window[place] = notYet
	n.oldest = next(place, len(n.window))
	return place
}

// takeIn takes in the answers that have come, of which nobody was told.
func (n *Node) takeIn() {
	for _, i := range n.m.fabric.waysIn(n.spot) {
		n.m.look(i)
	}
}

// await has the sites from which answers come serve those that are waited for now, and were not before.
func (n *Node) await() {
	for _, i := range n.m.fabric.waysIn(n.spot) {
		n.m.sites[i].plan()
	}
}

func (n *Node) stall() {
	since := n.proc.Now()
	n.stalled = true
	n.await()
	for n.window[n.oldest] == notYet {
		n.proc.Park(0)
	}
	n.stalled = false
	if wait := n.window[n.oldest] - n.proc.Now(); wait > 0 {
		n.proc.Charge(wait)
	}
	if n.proc.Now() > since {
		n.counts.Stalls++
	}
}

// deaf tells whether the proc waits for answers to stores: nothing that comes in ends that, so that
// it need not be woken for it.
func (n *Node) deaf() bool { return n.stalled || n.awaited != nil }

// settle enters when a store is answered, or given up, and wakes the proc if it waits for that.
func (n *Node) settle(place int, at vtime.Time, o Outcome, acct *Account) {
	n.window[place] = at
	wake := n.stalled && place == n.oldest
	if acct != nil {
		acct.settle(at, o, n.m.profile.Error.Assess)
		wake = wake || acct == n.awaited && acct.open == 0
		if acct.waiter != nil && acct.open == 0 {
			acct.call()
		}
	}
	if wake {
		n.m.rouse(n)
	}
}

// Load loads src, memory of another node at offset off of a segment, into dst. The CPU stalls
// for a whole round trip per aligned word of 8 bytes, because loads do not stream through
// bridges. If it does not return Delivered, dst holds what was loaded before. Only n's own
// proc may call it, outside of events.
func (n *Node) Load(from *Node, dst, src []byte, off int) Outcome {
	return n.load(from, dst, src, off, wordSize)
}

// LoadBlocks is Load through a map with prefetch: a round trip per aligned block of pio.block
// bytes.
func (n *Node) LoadBlocks(from *Node, dst, src []byte, off int) Outcome {
	return n.load(from, dst, src, off, int(n.m.profile.PIO.Block))
}

func (n *Node) load(from *Node, dst, src []byte, off, unit int) Outcome {
	for len(src) > 0 {
		size := min(len(src), unit-off&(unit-1))
		p := n.m.packet(load, n, from)
		p.src = src[:size]
		n.roundTrip(p)
		o := p.outcome
		if o == Delivered {
			copy(dst, p.data())
		}
		p.recycle()
		if o != Delivered {
			return o
		}
		n.counts.Bytes += int64(size)
		dst, src, off = dst[size:], src[size:], off+size
	}
	return Delivered
}

// roundTrip sends a request and stalls the CPU until its answer is there.
func (n *Node) roundTrip(p *packet) {
	n.counts.Loads++
	n.proc.Sync()
	p.injectNow()
	for !p.done {
		n.proc.Park(0)
	}
	n.proc.Charge(n.m.profile.PIO.Return)
}

// FetchAdd adds v to a word in the memory of another node, as its adapter does it, and
// returns what was there before. The CPU stalls for the round trip. If the outcome is not
// Delivered, the word may or may not have been changed. The machine must have lock.fetch-add;
// other processors must change the word in no other way. Only n's own proc may call it,
// outside of events.
func (n *Node) FetchAdd(at *Node, word *uint32, v uint32) (uint32, Outcome) {
	p := n.m.packet(fetchAdd, n, at)
	p.word, p.add, p.src = word, v, lockWord[:]
	n.roundTrip(p)
	old, o := p.old, p.outcome
	p.recycle()
	return old, o
}

// lockWord stands for the bytes of a fetch-and-add's word, of which only the number counts.
var lockWord [4]byte

// Interrupt has t.Fire(a, b) called at another host, interrupt.latency after the interrupt's
// packet has arrived there; not, if either host is lost before. It charges the driver's call
// and returns Dead, and does nothing, if the other host is out of reach. The driver takes care
// of packets that get lost. Only n's own proc may call it, outside of events.
func (n *Node) Interrupt(to *Node, t vtime.Target, a, b uint64) Outcome {
	n.proc.Charge(n.m.profile.Interrupt.Trigger)
	n.proc.Sync()
	if !n.m.reaches(n, to) {
		return Dead
	}
	p := n.m.packet(interrupt, n, to)
	p.target, p.a, p.b = t, a, b
	p.injectNow()
	return Delivered
}
