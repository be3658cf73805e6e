package lanai

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Doorbells is a region of the NIC's address space. The host writes a word anywhere in it; the word and its place
// go into a FIFO in the SRAM, and the LANai gets an event.
type Doorbells struct {
	nic    *NIC
	size   int
	room   int
	event  Event
	rings  fifo.Queue[Ring] // in the FIFO
	coming fifo.Queue[Ring] // on the bus
}

// Ring is an entry of the FIFO: what the host has written, and where in the region.
type Ring struct {
	Offset int
	Value  uint64
}

// ringSize is what an entry takes of the SRAM, and a write of the bus.
const ringSize = 8

// ErrDoorbellsFull says that the FIFO has no room for another entry.
var ErrDoorbellsFull = errors.New("lanai: the FIFO of doorbells is full")

// Doorbells makes a region of so many bytes with a FIFO of so many entries in the SRAM. event is raised when an
// entry has come.
func (n *NIC) Doorbells(size, entries int, event Event) (*Doorbells, error) {
	if size < ringSize || entries < 1 {
		return nil, fmt.Errorf("lanai: doorbells of %d B with a FIFO of %d entries", size, entries)
	}
	if err := n.SRAM.Reserve("doorbell FIFO", ringSize*Bytes(entries)); err != nil {
		return nil, err
	}
	return &Doorbells{nic: n, size: size, room: entries, event: event}, nil
}

// Write is the host's: it writes a value at an offset of the region. What is on the way counts as in the FIFO, so
// nothing is ever lost: if there is no room, Write fails with ErrDoorbellsFull and does nothing.
func (d *Doorbells) Write(offset int, value uint64) error {
	if offset < 0 || offset > d.size-ringSize || offset%ringSize != 0 {
		return fmt.Errorf("lanai: a doorbell at offset %d of a region of %d B; offsets are multiples of %d", offset, d.size, ringSize)
	}
	if d.Room() == 0 {
		return ErrDoorbellsFull
	}
	d.coming.Push(Ring{offset, value})
	d.nic.loop.At(d.nic.hostWrite(ringSize), d, 0, 0)
	return nil
}

// Room returns for how many entries the FIFO has room, besides what is on the way.
func (d *Doorbells) Room() int { return d.room - d.rings.Len() - d.coming.Len() }

// Next takes the first entry out of the FIFO; false if there is none.
func (d *Doorbells) Next() (Ring, bool) { return d.rings.Pop() }

// Waiting returns how many entries are in the FIFO.
func (d *Doorbells) Waiting() int { return d.rings.Len() }

// Fire implements vtime.Target: a write has crossed the bus.
func (d *Doorbells) Fire(_, _ uint64) {
	r, _ := d.coming.Pop()
	d.rings.Push(r)
	d.nic.CPU.Raise(d.event)
}

// Label implements vtime.Labelled.
func (d *Doorbells) Label(_, _ uint64) string { return "doorbell" }
