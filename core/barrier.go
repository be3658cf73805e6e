package core

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// The core-internal handlers of the job's own barrier: one counts the signals of Barrier,
// the other those of the final barrier.
const (
	barrierHandler = CoreHandlers + iota
	finalHandler
)

// barrier is a dissemination barrier over an endpoint's group: in round k each member
// signals the one 2^k places on and waits for the one 2^k places back. Counts only grow,
// so a fast member may run ahead.
//
// The final barrier has signals of its own, which say how many barriers the sender has
// entered: one that has returned must not stand in for one that is in a barrier. Where
// members do not agree, some member's neighbour is in the other kind of barrier in round 0,
// and one of the two notices.
type barrier struct {
	entered uint64                // calls of Barrier; stored atomically, for other contexts that poll
	arrived [barrierRounds]uint64 // their signals received, by round
	final   [barrierRounds]bool   // signals of the final barrier received, by round
	least   uint64                // of those, the least count of barriers entered
	leaver  Rank                  // who sent it
	group   []Rank                // nil: all ranks of the job
}

// barrierRounds is enough for any number of ranks.
const barrierRounds = 32

// Barrier returns when every rank of the endpoint's group has called it, serving peers
// meanwhile. One context of a rank at a time may be in it. The return of a rank's body is
// no call of it: if a rank returns that others wait for here, the job ends. It is the
// barrier of start and finish; the Extended API has split-phase, named and team barriers.
// Not allowed in a handler.
func (c *Context) Barrier() error {
	if c.restricted != 0 {
		return c.misplaced("Barrier")
	}
	return c.rendezvous(&c.ep.barrier)
}

// rendezvous is Barrier as that call, or as what it begins with.
func (c *Context) rendezvous(of Call) error {
	b := &c.ep.barrier
	atomic.StoreUint64(&b.entered, b.entered+1)
	span := c.ep.NoteCollective("core barrier", 0)
	err := c.disseminate(func(k int, to, _ Rank) error {
		if err := c.RequestShort(to, barrierHandler, uint32(k)); err != nil {
			return err
		}
		err := c.WaitCall("Barrier", of, func() bool { return b.arrived[k] >= b.entered || b.least < b.entered })
		if err == nil && b.least < b.entered {
			err = c.ep.parted(b.leaver, c.ep.job.rank)
		}
		return err
	})
	if err == nil {
		span.End()
	}
	return err
}

// finalWhat is what reports call the final barrier.
const finalWhat = "the final barrier"

// finalBarrier is the barrier of ranks whose bodies have returned.
func (c *Context) finalBarrier() error {
	if c.restricted != 0 {
		return c.misplaced(finalWhat)
	}
	b := &c.ep.barrier
	return c.disseminate(func(k int, to, from Rank) error {
		if err := c.RequestShort(to, finalHandler, uint32(k), uint32(b.entered), uint32(b.entered>>32)); err != nil {
			return err
		}
		err := c.WaitCall(finalWhat, (*leaving)(b), func() bool { return b.final[k] || b.arrived[k] > b.entered })
		if err == nil && !b.final[k] {
			err = c.ep.parted(c.ep.job.rank, from)
		}
		return err
	})
}

// disseminate calls round for each round, with whom to signal and whom to wait for.
func (c *Context) disseminate(round func(k int, to, from Rank) error) error {
	group := c.ep.group
	n := len(group)
	pos, _ := slices.BinarySearch(group, c.ep.job.rank)
	for k, dist := 0, 1; dist < n; k, dist = k+1, 2*dist {
		if err := round(k, group[(pos+dist)%n], group[(pos-dist+n)%n]); err != nil {
			return err
		}
	}
	return nil
}

// parted ends the job because one rank has returned from its body while another is in a
// barrier that needs it.
func (ep *Endpoint) parted(returned, waits Rank) error {
	err := &ExitError{1, fmt.Sprintf("core: rank %d has returned while rank %d is in a barrier", returned, waits)}
	ep.job.abort(err)
	return err
}

// onBarrier counts a signal of the round that the first argument names.
func (b *barrier) onBarrier(_ *Token, args []uint32, _ []byte) {
	if len(args) == 1 {
		b.arrived[args[0]%barrierRounds]++
	}
}

// onFinal notes a signal of the final barrier: the round, and how many barriers the sender
// has entered.
func (b *barrier) onFinal(t *Token, args []uint32, _ []byte) {
	if len(args) != 3 {
		return
	}
	b.final[args[0]%barrierRounds] = true
	if entered := uint64(args[1]) | uint64(args[2])<<32; entered < b.least {
		b.least, b.leaver = entered, t.Src()
	}
}
