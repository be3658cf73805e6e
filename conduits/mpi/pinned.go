package mpi

import (
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

// loan is a payload that leaves from where the caller has it, which may be the Go heap.
type loan struct {
	pin runtime.Pinner
	lc  *core.Completion // nil: the reply tells the caller
}

// loans holds those that are under way, by number. It grows to as many as ever were.
type loans struct {
	all  []*loan
	free []uint32
}

// close ends the loans that are still under way.
func (s *loans) close() {
	for _, x := range s.all {
		x.pin.Unpin()
	}
}

// lend takes the payload of op and returns the id of its post.
func (c *conduit) lend(op *core.Op) uint64 {
	s := &c.loans
	if len(s.free) == 0 {
		s.free = append(s.free, uint32(len(s.all)))
		s.all = append(s.all, new(loan))
	}
	n := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.all[n].pin.Pin(&op.Src[0])
	s.all[n].lc = op.LC
	return idOf(ofLoan, requests, int(n))
}

// giveBack ends a loan: the payload has left.
func (c *conduit) giveBack(n uint32) {
	x := c.loans.all[n]
	x.pin.Unpin()
	if x.lc != nil {
		x.lc.Complete()
	}
	x.lc = nil
	c.loans.free = append(c.loans.free, n)
}
