package hw

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// DMA holds the constants of a DMA engine.
type DMA struct {
	Start       vtime.Time    `machine:"start"`       // from the doorbell to the first descriptor
	Fetch       vtime.Time    `machine:"fetch"`       // to read and decode a descriptor
	Burst       machine.Bytes `machine:"burst"`       // moved at a time; a power of two
	Outstanding int           `machine:"outstanding"` // bursts without an answer, per channel
	Complete    vtime.Time    `machine:"complete"`    // from the last answer until the state says so
}

// Channel is a channel of a DMA engine: it works on one chain at a time, that of the highest priority
// first, and first come, first served among equals. A chain of a higher priority is taken up when the
// block that is at work has been finished; the other chain goes on afterwards. The zero value is idle.
type Channel struct {
	active  *Chain
	waiting []*Chain // in the order in which they will be taken up
}

// wait puts a chain among those that wait: behind its equals, or, if it was at work, before them.
func (ch *Channel) wait(c *Chain, wasAtWork bool) {
	i := slices.IndexFunc(ch.waiting, func(w *Chain) bool {
		return w.Priority < c.Priority || wasAtWork && w.Priority == c.Priority
	})
	if i < 0 {
		i = len(ch.waiting)
	}
	ch.waiting = slices.Insert(ch.waiting, i, c)
}

// prefers tells whether a chain waits that has a higher priority than the one at work.
func (ch *Channel) prefers(c *Chain) bool {
	return len(ch.waiting) > 0 && ch.waiting[0].Priority > c.Priority
}

// next takes up the first chain that waits.
func (ch *Channel) next() {
	ch.active = nil
	if len(ch.waiting) > 0 {
		c := ch.waiting[0]
		ch.waiting = slices.Delete(ch.waiting, 0, 1)
		c.begin()
	}
}

// Work is what the descriptors of a chain stand for. Its methods are called by events.
type Work interface {
	// The events of the chain are the work's, which hands them to Chain.Fire, so that it names them
	// in traces.
	vtime.Target
	// Block returns the bytes of the i-th descriptor and where they begin, counted from what bursts
	// are aligned to; false if there are only i.
	Block(i int) (off, size int, ok bool)
	// Send sends n bytes from pos of the i-th descriptor. When the bus is free for the next burst,
	// or will be, Sent is called, and when the burst has been answered, Answered: never before Sent of
	// the same burst.
	Send(i, pos, n int)
	// Halted tells whether nothing more is to be sent.
	Halted() bool
	// Done tells that the state of the chain says that it has ended, and whether it was aborted with
	// something left, which empty descriptors are not. The channel goes on with the next chain before.
	Done(aborted bool)
}

// Chain is a list of descriptors that a channel carries out in order, burst by burst: as fast as the
// bus gives them, and as long as not too many answers are missing. Whoever has one is the Work of it.
type Chain struct {
	Priority int // among the chains of its channel, the greatest first; not to be changed at work

	loop    *vtime.Loop
	dma     *DMA
	channel *Channel
	work    Work

	block  int // descriptor that is next to be read
	pos    int // and how far it has been
	flying int // bursts without an answer

	posted   bool // until Done is called
	stepping bool // an event will go on
	held     bool // an answer must come before it goes on
	yielding bool // the channel is another chain's when no answer is missing any more
	abort    bool
	aborted  bool // before its end
}

// NewChain returns a chain for a channel.
func NewChain(loop *vtime.Loop, dma *DMA, channel *Channel, work Work) Chain {
	return Chain{loop: loop, dma: dma, channel: channel, work: work}
}

// Posted tells whether the chain is at work: from Post until Work.Done is called.
func (c *Chain) Posted() bool { return c.posted }

// Post rings the doorbell at a time, for the channel to carry the chain out. It must not be at work.
func (c *Chain) Post(at vtime.Time) {
	c.block, c.pos = 0, 0
	c.posted, c.abort, c.aborted = true, false, false
	c.at(at+c.dma.Start, begin)
}

// Abort stops a chain at work before its next burst.
func (c *Chain) Abort() { c.abort = c.posted }

// The events of a chain.
const (
	begin  uint64 = iota // the doorbell has reached the engine
	step                 // the bus is free for the next burst
	finish               // the engine has written the state
)

// ChainEvents are what events of a chain are called in traces, by their first word.
var ChainEvents = [...]string{"begin", "step", "finish"}

// Fire is what an event of the chain does.
func (c *Chain) Fire(event, _ uint64) {
	switch event {
	case begin:
		c.begin()
	case step:
		c.step()
	case finish:
		c.finish()
	}
}

func (c *Chain) at(t vtime.Time, event uint64) { c.loop.At(t, c.work, event, 0) }

// begin starts the chain if its channel is idle.
func (c *Chain) begin() {
	if c.channel.active != nil {
		c.channel.wait(c, false)
		return
	}
	c.channel.active = c
	c.Sent(c.loop.Now())
}

// Sent says when the burst that was sent last has crossed the bus: the engine takes up the next then,
// or ends the chain.
func (c *Chain) Sent(at vtime.Time) {
	_, size, ok := c.work.Block(c.block)
	for ok && size == 0 {
		c.block++
		_, size, ok = c.work.Block(c.block)
	}
	if !ok {
		c.end()
		return
	}
	if c.pos == 0 {
		at += c.dma.Fetch
	}
	c.stepping = true
	c.at(at, step)
}

// yield leaves the channel to a chain of a higher priority when the block at work has been finished.
func (c *Chain) yield() {
	if c.flying > 0 {
		return
	}
	c.yielding = false
	c.channel.wait(c, true)
	c.channel.next()
}

// step sends the next burst, or waits for answers if too many are missing. Before the first burst of a
// block it yields to a chain of a higher priority; the descriptor is then read again.
func (c *Chain) step() {
	c.stepping = false
	switch {
	case c.abort || c.work.Halted():
		c.end()
	case c.pos == 0 && c.channel.prefers(c):
		c.yielding = true
		c.yield()
	case c.flying == c.dma.Outstanding:
		c.held = true
	default:
		c.burst()
	}
}

// burst sends the next burst of the current block. It goes up to a multiple of the size of bursts.
func (c *Chain) burst() {
	off, size, _ := c.work.Block(c.block)
	block, pos, most := c.block, c.pos, int(c.dma.Burst)
	n := min(size-pos, most-(off+pos)&(most-1))
	c.flying++
	if c.pos += n; c.pos == size {
		c.block++
		c.pos = 0
	}
	c.work.Send(block, pos, n)
}

// Answered says that a burst has been answered, or never will be.
func (c *Chain) Answered() {
	c.flying--
	switch {
	case c.held:
		c.held = false
		c.step()
	case c.yielding:
		c.yield()
	case !c.stepping:
		c.end()
	}
}

// end ends the chain's work when no answer is missing any more.
func (c *Chain) end() {
	if c.flying > 0 || c.stepping || c.held {
		return
	}
	_, _, left := c.work.Block(c.block)
	c.aborted = c.abort && left
	c.at(c.loop.Now()+c.dma.Complete, finish)
}

// finish hands the channel to the next chain and reports.
func (c *Chain) finish() {
	c.posted = false
	c.channel.next()
	c.work.Done(c.aborted)
}
