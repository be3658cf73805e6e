package mpi

import (
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

// pin is a payload that leaves from the caller's memory. The memory may be of the Go heap, so it is pinned
// until the payload has left.
type pin struct {
	pinner runtime.Pinner
	lc     *core.Completion // nil: the reply tells the caller
}

// pins has the pins that are under way, by number. It grows to as many as ever were.
type pins struct {
	all  []*pin
	free []uint32
}

// close ends the pins that are still under way.
func (s *pins) close() {
	for _, x := range s.all {
		x.pinner.Unpin()
	}
}

// pin pins the payload of op and returns the id of its post.
func (c *conduit) pin(op *core.Op) uint64 {
	s := &c.pins
	if len(s.free) == 0 {
		s.free = append(s.free, uint32(len(s.all)))
		s.all = append(s.all, new(pin))
	}
	n := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.all[n].pinner.Pin(&op.Src[0])
	s.all[n].lc = op.LC
	return idOf(ofPinned, requests, int(n))
}

// unpin ends a pin: the payload has left.
func (c *conduit) unpin(n uint32) {
	x := c.pins.all[n]
	x.pinner.Unpin()
	if x.lc != nil {
		x.lc.Complete()
	}
	x.lc = nil
	c.pins.free = append(c.pins.free, n)
}
