package sci

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
)

// target is a peer that was put to.
type target struct {
	idle *batch           // to be reused
	lock *sisci.RemoteMap // its segment, to fetch and add; nil before the first time
}

// put is a put under way.
type put struct {
	off        int
	mem        []byte
	head, tail int // bytes at its ends that are stored: head is all of it unless DMA has a part
	lc, done   *core.Completion
	parts      int     // stores and DMA, as far as they are not known to have arrived
	dma        *dmaPut // nil: all is stored
	word       [core.MaxInline]byte
	next       *put
}

// batch is the stores to one peer that are under one sequence and are checked together.
type batch struct {
	peer        *remote
	target      *target
	q           *sisci.Sequence
	first, last *put
	asked       bool // a poll has asked for the answers: nothing more is stored under it
	next        *batch
}

// MaxPut implements core.Putter.
func (c *modelled) MaxPut() int { return c.most }

// Put implements core.Putter.
func (c *modelled) Put(t *core.Transfer) core.Result {
	peer := c.peerOf(t.Rank)
	if peer.rank == c.group[c.me] {
		return c.putOwn(t)
	}
	if c.room == 0 || c.failed {
		return core.NoRoom
	}
	long := c.longMap(peer)
	switch {
	case long == nil:
		return c.fail()
	case len(t.Mem) >= c.from:
		return c.putByDMA(t, peer, long)
	}
	c.model.looked()
	p := c.take(t)
	p.head, p.parts = len(p.mem), 1
	return c.store(p, peer, long)
}

// putOwn is a put to the rank's own segment: its processor copies.
func (c *modelled) putOwn(t *core.Transfer) core.Result {
	if w, ok := core.Window(c.own, t.Off, uint64(len(t.Mem))); ok {
		c.model.copied(copy(w, t.Mem))
	}
	return core.Completed
}

// fail is the answer to a put that was not begun when the job failed: whoever waits for room
// finds out why.
func (c *modelled) fail() core.Result {
	c.failed = true
	return core.NoRoom
}

// peerOf returns a rank as a peer. It may not be connected: that takes a message.
func (c *modelled) peerOf(r core.Rank) *remote {
	if p := c.byRank.At(int(r)); p.remote != nil {
		return p.remote
	}
	position, _ := slices.BinarySearch(c.group, r)
	return c.introduce(position).remote
}

// take returns the record of a put.
func (c *modelled) take(t *core.Transfer) *put {
	p := c.idle
	if p == nil {
		p = new(put)
	} else {
		c.idle = p.next
	}
	c.room--
	*p = put{off: int(t.Off), mem: t.Mem, lc: t.LC, done: t.Done}
	if len(p.mem) <= len(p.word) {
		p.mem = p.word[:copy(p.word[:], p.mem)]
	}
	return p
}

// arrived notes that a part of a put has arrived. With the last one the put is complete.
func (c *modelled) arrived(p *put) (complete int) {
	if p.parts--; p.parts > 0 {
		return 0
	}
	if p.dma != nil {
		p.dma.put = nil
	}
	lc, done := p.lc, p.done
	*p = put{next: c.idle}
	c.idle = p
	c.room++
	if lc != nil {
		lc.Complete()
	}
	done.Complete()
	return 1
}

// store stores what of a put does not go by DMA. Puts to one peer in a row take one sequence,
// and one check, as long as nobody has asked for the answers.
func (c *modelled) store(p *put, peer *remote, long *sisci.RemoteMap) core.Result {
	b := c.last
	if b == nil || b.peer != peer || b.asked {
		if b = c.begin(peer, long); b == nil {
			c.failed = true
			return core.Initiated // and never complete
		}
	}
	if b.first == nil {
		b.first = p
	} else {
		b.last.next = p
	}
	b.last = p
	b.push(p)
	return core.Initiated
}

// begin starts a sequence and returns its batch, the last one, or nil after a failure.
func (c *modelled) begin(peer *remote, long *sisci.RemoteMap) *batch {
	t := c.targets.At(int(peer.rank))
	b := t.idle
	if b == nil {
		q, err := long.CreateSequence()
		if err != nil {
			c.unreached(peer, err)
			return nil
		}
		b = &batch{peer: peer, target: t, q: q}
	} else {
		t.idle, b.next = b.next, nil
	}
	if !b.q.Begin() {
		c.unreached(peer, b.q.Status())
		return nil
	}
	if c.last == nil {
		c.first = b
	} else {
		c.last.next = b
	}
	c.last = b
	return b
}

// push stores the bytes.
func (b *batch) push(p *put) {
	b.q.Store(p.off, p.mem[:p.head])
	if p.tail > 0 {
		n := len(p.mem) - p.tail
		b.q.Store(p.off+n, p.mem[n:])
	}
}

// repeat stores a batch again, some of which has not arrived. It reports whether that is
// certain to have arrived then; if not, the job has failed.
func (c *modelled) repeat(b *batch) bool {
	for p := b.first; p != nil && !c.failed; p = p.next {
		n := len(p.mem) - p.tail
		c.failed = !c.resend(b, p.off, p.mem[:p.head]) || !c.resend(b, p.off+n, p.mem[n:n+p.tail])
	}
	return !c.failed
}

// resend stores bytes again, in parts of the size of a message: in each of them links fail
// seldom enough. It waits for the answers, as messages do.
func (c *modelled) resend(b *batch, off int, mem []byte) bool {
	peer, long := c.byRank.At(int(b.peer.rank)), c.longMap(b.peer)
	for len(mem) > 0 {
		n := min(len(mem), commandSize)
		copy(long.Window(off, n), mem)
		arrived := c.ensure(peer, b.q, off, n, 0)
		long.Close(off)
		if !arrived {
			return false
		}
		off, mem = off+n, mem[n:]
	}
	return true
}

// looked charges the look for a free record and the look-up of where a put goes.
func (m *model) looked() {
	h := &m.profile.Host
	m.proc.Charge(h.Slot + h.LookUp)
}
