package core

import "slices"

// barrierHandler is the core-internal handler of the job's own barrier.
const barrierHandler = CoreHandlers

// barrier is a dissemination barrier over an endpoint's group: in round k each member
// signals the one 2^k places on and waits for the one 2^k places back. Counts only grow,
// so a fast member may run ahead.
type barrier struct {
	epoch   uint64
	arrived [32]uint64 // signals received, by round
}

// Barrier returns when every rank of the endpoint's group has called it, serving peers
// meanwhile. One context of a rank at a time may be in it. It is the barrier of start and
// finish; the Extended API has split-phase, named and team barriers. Not allowed in a
// handler.
func (c *Context) Barrier() error {
	ep := c.ep
	if c.restricted != 0 {
		return c.misplaced("Barrier")
	}
	b := &ep.barrier
	pos, _ := slices.BinarySearch(ep.group, ep.job.rank)
	b.epoch++
	for k, dist := 0, 1; dist < len(ep.group); k, dist = k+1, 2*dist {
		to := ep.group[(pos+dist)%len(ep.group)]
		if err := c.RequestShort(to, barrierHandler, uint32(k)); err != nil {
			return err
		}
		if err := c.wait("Barrier", func() bool { return b.arrived[k] >= b.epoch }); err != nil {
			return err
		}
	}
	return nil
}

// onBarrier counts a signal of the round that the first argument names.
func (b *barrier) onBarrier(_ *Token, args []uint32, _ []byte) {
	if len(args) == 1 {
		b.arrived[args[0]%uint32(len(b.arrived))]++
	}
}
