package sci

import (
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// A rank that goes to sleep stores the number of this sleep into every peer's memory, and
// whoever then has something for it rings its doorbell, once. Publishing is a plain store
// followed by a load of the local asleep word, which the processor may reorder; so the
// sleeper runs membarrier between announcing and looking once more, which puts a full
// barrier into every process. Either the sender then sees the announcement, or the sleeper
// sees the message. Where membarrier is missing, senders publish with a full barrier.

// wake rings the peer's doorbell if it sleeps. It is called after every store that the
// peer may wait for.
func (b *base) wake(i int) {
	if sleep := shm.Load32(&b.asleep[i]); sleep != 0 {
		b.ring(i, sleep)
	}
}

// ring rings for the given sleep of the peer, unless another context has done so.
func (b *base) ring(i int, sleep uint32) {
	if atomic.CompareAndSwapUint32(&b.asleep[i], sleep, 0) {
		if err := b.nodes[i].door.Trigger(); err != nil {
			b.port.Fail(err)
		}
	}
}

// announce tells the peers that this rank is going to sleep. Afterwards the caller looks
// at its memory once more.
func (b *base) announce() {
	if b.sleeps++; b.sleeps == 0 {
		b.sleeps = 1
	}
	for i := range b.nodes {
		b.nodes[i].bells.Store32(4*b.me, b.sleeps)
	}
	if b.fenced {
		shm.Fence()
	} else if err := shm.Membarrier(); err != nil {
		b.port.Fail(err)
	}
}

// retract ends the sleep that was announced.
func (b *base) retract() {
	for i := range b.nodes {
		b.nodes[i].bells.Store32(4*b.me, 0)
	}
	b.doorbell.Clear()
	shm.Silence(b.bell)
}

// sleeper implements core.Sleeper over a profile's look for something to do.
type sleeper struct {
	*base
	ready func() bool
}

func (s *sleeper) Arm() bool { s.announce(); return s.ready() }
func (s *sleeper) FD() int   { return s.bell }
func (s *sleeper) Disarm()   { s.retract() }

// Sleeper implements core.Conduit.
func (c *live) Sleeper() core.Sleeper { return &sleeper{&c.base, c.ready} }

// ready reports whether a message has come that can be taken, or room that one waits for.
func (c *live) ready() bool {
	for i := range c.peers {
		p := &c.peers[i]
		if p.in[replies].ready() || p.in[requests].ready() && c.replyRoom(p) || p.out[requests].returned() || p.out[replies].returned() {
			return true
		}
	}
	return false
}

// Sleeper implements core.Conduit.
func (c *paper) Sleeper() core.Sleeper { return &sleeper{&c.base, c.ready} }

// ready reports whether there is a message, or room that a request waits for.
func (c *paper) ready() bool {
	if shm.Load8(c.exist) != 0 || !c.queue.empty() {
		return true
	}
	s := &c.staging[requests]
	if s.waits.Load() && !s.busy.Load() {
		return true
	}
	for _, p := range c.senders { // live all peers are
		if p.waits.Load() && p.used.Load() != 1<<pairs-1 {
			return true
		}
	}
	return false
}
