package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Organisation is how a channel's queue of outgoing messages is laid out in SRAM.
type Organisation uint8

// The organisations.
const (
	// Append has messages back to back. What the NI knows of them is in the scoreboard. A message leaves by one network DMA.
	Append Organisation = iota
	// Slotted has slots of an equal size, grim.slot, with a word of state each.
	Slotted
	// Hybrid has headers in slots, with a word of state each, and payloads back to back. A message leaves by two network DMAs. The processor
	// waits for the first before it starts the second, and does nothing else meanwhile.
	Hybrid
)

var organisations = [...]string{"append", "slotted", "hybrid"}

// String returns the name of the organisation.
func (o Organisation) String() string { return organisations[o] }

// stateSize is the word of state that a slot has, in bytes.
const stateSize = word

// queue is the memory of a channel's queue, as the host that appends to it knows it.
type queue struct {
	org      Organisation
	slot     int
	messages ring // of a hybrid queue its headers
	payloads ring // of a hybrid queue
}

func newQueue(image Image, p *Profile) (*queue, error) {
	o := image.Queue
	size, q := int(p.GRIM.Queue), &queue{org: o}
	if image.Incoming {
		size /= 2
	}
	switch o {
	case Append:
	case Slotted:
		q.slot = int(p.GRIM.Slot)
	case Hybrid:
		q.slot = stateSize + HeaderSize
		q.payloads.size = size - int(p.GRIM.Headers)
		size = int(p.GRIM.Headers)
	default:
		return nil, fmt.Errorf("grim: organisation %d of queues", uint8(o))
	}
	q.messages.size = size
	if q.slot > size || q.payloads.size < 0 {
		return nil, fmt.Errorf("grim: a %v queue of %d B (grim.queue) has no room for a message: change grim.slot, %d B, or grim.headers, %d B", o, p.GRIM.Queue, p.GRIM.Slot, p.GRIM.Headers)
	}
	return q, nil
}

// most returns the size of the largest payload that an empty queue has room for, in bytes.
func (q *queue) most() int {
	n := q.messages.size - HeaderSize
	switch q.org {
	case Slotted:
		n = q.slot - stateSize - HeaderSize
	case Hybrid:
		n = q.payloads.size
	}
	return min(MaxPayload, n&^(word-1))
}

// sizes returns what a message with so many bytes of payload takes of messages, and of payloads.
func (q *queue) sizes(payload int) (size, apart int) {
	switch q.org {
	case Slotted:
		return q.slot, 0
	case Hybrid:
		return q.slot, payload
	}
	return HeaderSize + payload, 0
}

// MostPayload returns the size of the largest payload that the queue of a channel has room for, of a NIC with such an image and profile.
func MostPayload(image Image, p *Profile) (int, error) {
	q, err := newQueue(image, p)
	if err != nil {
		return 0, err
	}
	return q.most(), nil
}

// fits reports whether there is room for a message with so many bytes of payload, padding included.
func (q *queue) fits(payload int) bool {
	size, apart := q.sizes(payload)
	return q.messages.fits(size) && (apart == 0 || q.payloads.fits(apart))
}

// add takes the room of a message that fits.
func (q *queue) add(payload int) {
	size, apart := q.sizes(payload)
	q.messages.take(size)
	if apart > 0 {
		q.payloads.take(apart)
	}
}

// drop gives back the room of the message that was added first, which has so many bytes of payload.
func (q *queue) drop(payload int) {
	q.messages.give()
	if q.org == Hybrid && payload > 0 {
		q.payloads.give()
	}
}

// ring is memory whose parts are given back in the order in which they were taken. No part goes on at the beginning when the end
// of the memory is reached: what it does not fit into stays empty.
type ring struct {
	size  int
	back  int // where the next part begins if it fits there
	parts fifo.Queue[part]
}

type part struct{ at, size int }

// place returns where the next part begins if it has n bytes, of which there is one at least; it reports false if there is no
// room.
func (r *ring) place(n int) (at int, ok bool) {
	if r.parts.Len() == 0 {
		return 0, n <= r.size
	}
	front := r.parts.At(0).at
	switch {
	case r.back <= front: // parts are at the end and at the beginning
		return r.back, front-r.back >= n
	case r.size-r.back >= n:
		return r.back, true
	}
	return 0, front >= n
}

func (r *ring) fits(n int) bool {
	_, ok := r.place(n)
	return ok
}

// take takes a part of n bytes, as place says.
func (r *ring) take(n int) (at int, ok bool) {
	if at, ok = r.place(n); ok {
		r.parts.Push(part{at, n})
		r.back = at + n
	}
	return at, ok
}

// give gives back the part that was taken first.
func (r *ring) give() { r.parts.Drop() }
