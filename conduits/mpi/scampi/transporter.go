package scampi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
)

// A large message goes in parts through the transporter buffers of its receiver's channel, which
// are used in turn. Each part is announced by a Data message in the ring. The messages to one
// peer go one after the other.

// stages is the number of parts that lie ready for DMA: while the engine moves one the
// processor copies the next.
const stages = 2

// dma is the rank's DMA queue, with the memory that it reads from.
type dma struct {
	queue  *sisci.DMAQueue
	seg    *sisci.LocalSegment
	mem    []byte
	parts  [stages]part // what is to be moved, in order
	n      int          // of parts
	next   int          // stage that is filled next
	posted *imported    // where the engine moves parts[0]; nil: it does not work
	failed int          // times that it has failed to
}

// part is a part of a large message.
type part struct {
	peer  *peer
	m     matching.Message
	entry int // transporter buffer
	at, n int // of the message
	stage int // in staging memory, by DMA
}

// openDMA makes the staging memory and the queue.
func (t *transport) openDMA() (err error) {
	d, size := &t.dma, stages*t.layout.entry
	if d.seg, err = t.dev.CreateSegment(0, size, sisci.Private, nil); err != nil {
		return err
	}
	if err = d.seg.Prepare(sisci.DMASourceOnly); err != nil {
		return err
	}
	m, err := d.seg.Map(0, size, 0)
	if err != nil {
		return err
	}
	d.mem = m.Bytes()
	d.queue, err = t.dev.CreateDMAQueue(1)
	return err
}

// occupy has carry look at the peer.
func (t *transport) occupy(p *peer) {
	if !p.busy {
		p.busy = true
		t.busy = append(t.busy, p)
	}
}

// carry sends parts of large messages as far as there is room for them.
func (t *transport) carry() error {
	if err := t.move(); err != nil {
		return err
	}
	left := t.busy[:0]
	for _, p := range t.busy {
		if err := t.sendParts(p); err != nil {
			return err
		}
		if p.busy = p.current.Payload != nil || p.large.Len() > 0; p.busy {
			left = append(left, p)
		}
	}
	t.busy = left
	return nil
}

// sendParts sends what it can of the messages to a peer.
func (t *transport) sendParts(p *peer) error {
	for p.filled-p.credit(entryCredit) < uint64(t.layout.entries) {
		if p.current.Payload == nil {
			var ok bool
			if p.current, ok = p.large.Pop(); !ok {
				return nil
			}
			p.at = 0
		}
		m := &p.current
		left := len(m.Payload) - p.at
		byDMA := len(m.Payload) >= int(t.profile.Library.DMA)
		if left == 0 || p.flying > 0 && !byDMA || byDMA && t.dma.n == stages {
			return nil // until DMA has brought the parts before
		}
		x := part{peer: p, m: *m, entry: int(p.filled % uint64(t.layout.entries)), at: p.at, n: min(left, t.layout.entry)}
		p.filled++
		p.at += x.n
		var err error
		if byDMA {
			err = t.stage(x)
		} else {
			err = t.store(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// store brings a part over by PIO.
func (t *transport) store(x part) error {
	im, err := t.reach(x.peer)
	if err != nil {
		return err
	}
	off := t.layout.entryAt(x.entry)
	copy(im.m.Window(off, x.n), x.m.Payload[x.at:])
	err = im.ensure(off, x.n)
	im.m.Close(off)
	if err != nil {
		return err
	}
	return t.announce(x)
}

// announce tells the receiver of a part that is there. With the last one the message is sent.
func (t *transport) announce(x part) error {
	e := envelope{kind: matching.Data, entry: x.entry, size: x.m.Size, offset: x.at, length: x.n, send: x.m.Send, recv: x.m.Recv}
	if err := t.put(x.peer, &e, nil); err != nil {
		return err
	}
	if x.at+x.n == len(x.m.Payload) {
		t.engine.Sent(x.m)
		x.peer.current = matching.Message{}
	}
	return nil
}

// stage copies a part to where DMA can read it, and lets the engine go on.
func (t *transport) stage(x part) error {
	d, h := &t.dma, &t.profile.Hardware.Host
	x.stage = d.next * t.layout.entry
	d.next = (d.next + 1) % stages
	copy(d.mem[x.stage:], x.m.Payload[x.at:x.at+x.n])
	t.proc.Charge(h.Copy + h.CopyRate.Time(x.n))
	d.parts[d.n] = x
	d.n++
	t.worked = true
	x.peer.flying++
	return t.move()
}

// move announces what the engine has moved, and gives it the next part.
func (t *transport) move() error {
	d := &t.dma
	for {
		if d.posted != nil {
			if state := d.queue.State(); state == sisci.DMAPosted {
				return nil
			} else if err := t.moved(state); err != nil {
				return err
			}
		}
		if d.n == 0 {
			return nil
		}
		if err := t.postDMA(&d.parts[0]); err != nil {
			return err
		}
	}
}

// moved ends a transfer of the engine, which has come to a state. A transfer that has failed is
// made again.
func (t *transport) moved(state sisci.DMAState) error {
	d := &t.dma
	d.posted.pinned = false
	d.posted = nil
	if err := d.queue.Reset(); err != nil {
		return err
	}
	x := d.parts[0]
	if state != sisci.DMADone {
		if d.failed++; d.failed < sisci.Attempts {
			return nil
		}
		return fmt.Errorf("scampi: cannot send to rank %d: DMA ended %d times with %v", x.peer.rank, d.failed, state)
	}
	d.failed = 0
	copy(d.parts[:], d.parts[1:d.n])
	d.n--
	d.parts[d.n] = part{}
	x.peer.flying--
	return t.announce(x)
}

// postDMA has the engine move a part, rounded up to what it can move.
func (t *transport) postDMA(x *part) error {
	d := &t.dma
	im, err := t.reach(x.peer)
	if err != nil {
		return err
	}
	unit := int(t.profile.Hardware.DMA.Align)
	n := (x.n + unit - 1) / unit * unit
	if err := d.queue.Enqueue(d.seg, x.stage, im.seg, t.layout.entryAt(x.entry), n, 0); err != nil {
		return err
	}
	im.pinned, d.posted = true, im
	return d.queue.Post(nil) // its end makes the rank look, see sisci
}
