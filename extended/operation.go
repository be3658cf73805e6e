package extended

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// operation is something under way: what an event stands for, the implicit operations of a
// context or an access region, or one get of those. Messages name it by its number.
type operation struct {
	number     uint32
	generation uint32           // odd while in use, even on the free list; see operations.advance
	pending    tally            // answers and members still to come, plus 1 during initiation
	local      core.Completion  // payloads in use of puts with LCLeaf
	deferred   core.Completion  // payloads in use of the other puts
	native     core.Completion  // parts that the network carries out itself
	group      *operation       // what it is a member of: it ends by itself and tells the group
	dst        []byte           // of a get
	call       string           // what began it, for reports
	peer       core.Rank        // of which it is a put, a get or an atomic operation, else several
	team       *Team            // of a collective call, else nil
	made       int64            // it is this one of the team's collective calls, from 1
	says       engine.Signature // and this is what it does
	span       *core.Span       // of a collective call whose job's events are kept: until the program knows that it is complete
	next       *operation       // on the free list
}

// done reports whether the operation is complete: nothing is to come, and no payload is in
// use. A conduit may be done with a payload later than the answer comes.
func (op *operation) done() bool {
	return op.arrived() && op.local.Pending() == 0 && op.deferred.Pending() == 0
}

// arrived reports whether nothing is to come, of which polls tell.
func (op *operation) arrived() bool { return op.pending.Load() == 0 && op.native.Pending() == 0 }

// tally counts. Where handlers may run on other goroutines it does so atomically; elsewhere
// that would be a waste: a locked instruction waits until everything that was stored before,
// messages to peers for instance, has left the processor.
type tally struct {
	n      int64
	single bool
}

func (t *tally) Add(k int64) int64 {
	if t.single {
		t.n += k
		return t.n
	}
	return atomic.AddInt64(&t.n, k)
}

func (t *tally) Load() int64 { return atomic.LoadInt64(&t.n) }

func (t *tally) Store(k int64) {
	if t.single {
		t.n = k
	} else {
		atomic.StoreInt64(&t.n, k)
	}
}

// operations is the table of a rank's operations. It doubles by chunks, which stay where they
// are, since messages refer to them: the first has firstChunk, each other one as many as all
// before it.
type operations struct {
	single bool
	mu     sync.Mutex // unless single
	free   *operation
	chunks [chunks]atomic.Pointer[[]operation]
	n      int // chunks there are
}

const (
	firstChunk    = 1 << 3
	chunks        = 23
	maxOperations = firstChunk << (chunks - 1) // 2²⁵
)

// chunkOf returns the chunk in which a number is, and where in it.
func chunkOf(number uint32) (chunk int, at uint32) {
	if chunk = bits.Len32(number / firstChunk); chunk == 0 {
		return 0, number
	}
	return chunk, number - firstChunk<<(chunk-1)
}

// lock and unlock guard the free list.
func (t *operations) lock() {
	if !t.single {
		t.mu.Lock()
	}
}

func (t *operations) unlock() {
	if !t.single {
		t.mu.Unlock()
	}
}

// at returns the operation of a number, nil if there is none.
func (t *operations) at(number uint32) *operation {
	i, at := chunkOf(number)
	if i >= len(t.chunks) {
		return nil
	}
	if c := t.chunks[i].Load(); c != nil {
		return &(*c)[at]
	}
	return nil
}

// take returns a free operation with one pending: its initiation. It returns nil when 2²⁵
// are under way.
func (t *operations) take() *operation {
	t.lock()
	defer t.unlock()
	if t.free == nil {
		t.grow()
	}
	op := t.free
	if op == nil {
		return nil
	}
	t.free, op.next = op.next, nil
	op.pending.Store(1)
	t.advance(op)
	return op
}

// advance brings an operation to its next generation. Where several goroutines call, one that
// has an old event may look at it at any time.
func (t *operations) advance(op *operation) {
	if t.single {
		op.generation++
	} else {
		atomic.AddUint32(&op.generation, 1)
	}
}

// grow adds a chunk of free operations.
func (t *operations) grow() {
	if t.n == len(t.chunks) {
		return
	}
	before := 0
	if t.n > 0 {
		before = firstChunk << (t.n - 1)
	}
	c := make([]operation, max(firstChunk, before))
	for i := len(c) - 1; i >= 0; i-- {
		c[i].number = uint32(before + i)
		c[i].pending.single = t.single
		c[i].next, t.free = t.free, &c[i]
	}
	t.chunks[t.n].Store(&c)
	t.n++
}

// release recycles an operation that is complete.
func (t *operations) release(op *operation) {
	if op.span != nil {
		op.span.End()
		op.span = nil
	}
	t.lock()
	t.advance(op)
	op.group, op.dst, op.team = nil, nil, nil
	op.next, t.free = t.free, op
	t.unlock()
}

// finish takes n pending off op; a member that is complete then ends.
func (ep *Endpoint) finish(op *operation, n int64) {
	g := op.group // who waits for op may recycle it at once
	if op.pending.Add(-n) > 0 || g == nil {
		return
	}
	ep.ops.release(op)
	g.pending.Add(-1)
}

// Over implements engine.Op for a collective call, which has no group.
func (op *operation) Over() { op.pending.Add(-1) }

// form is how an operation is initiated.
type form uint8

const (
	blocking form = iota
	explicit      // with an event
	implicit      // counted by its category or the open access region
)

// several is the peer of an operation that has no one peer.
const several core.Rank = -1

// start begins an operation of a form with a peer. dst is where a result goes, nil for none: an implicit
// operation without one needs nothing of its own.
func (c *Context) start(call string, f form, k category, peer core.Rank, dst []byte) (op *operation, err error) {
	switch {
	case f != implicit:
		if op, err = c.begin(call); err == nil {
			op.peer = peer
		}
	case dst != nil:
		op, err = c.member(call, k)
	default:
		return c.implied(call, k)
	}
	if err == nil {
		op.dst = dst
	}
	return op, err
}

// end ends the initiation of what start began: it waits for a blocking operation, and returns
// the event of an explicit one.
func (c *Context) end(op *operation, f form, err error) (Event, error) {
	switch {
	case err != nil:
		return 0, err
	case f == blocking:
		return 0, c.complete(op)
	case f == explicit:
		return c.event(op, nil)
	case op.group != nil:
		c.ep.finish(op, 1)
	}
	return 0, nil
}

// admit returns what forbids a call on n bytes at off of rank's segment: the context's
// situation, or the range.
func (c *Context) admit(call string, rank core.Rank, off uint64, n int) error {
	if err := c.Check(call); err != nil {
		return err
	}
	if !c.ep.inside(rank, off, n) {
		return c.ep.outside(call, rank, off, n)
	}
	return nil
}

// begin starts an operation, unless the context's situation forbids it.
func (c *Context) begin(call string) (*operation, error) {
	if err := c.Check(call); err != nil {
		return nil, err
	}
	if op := c.ep.ops.take(); op != nil {
		op.call, op.peer = call, several
		return op, nil
	}
	return nil, c.ep.misuse(call, "%d operations are under way; synchronise some", maxOperations)
}

// event ends an initiation: it returns the operation's event, 0 if it is complete already.
// After an error nothing more is sent, and the operation is given up: its answers have no
// meaning any more, since the job is ending.
func (c *Context) event(op *operation, err error) (Event, error) {
	if err != nil {
		return 0, err
	}
	if op.pending.Add(-1); op.done() {
		c.ep.ops.release(op)
		return 0, nil
	}
	return eventOf(op), nil
}

// complete ends the initiation of a blocking operation: it waits and recycles.
func (c *Context) complete(op *operation) error {
	op.pending.Add(-1)
	err := c.await(op)
	if err == nil {
		c.ep.ops.release(op)
	}
	return err
}

// await waits until an operation is done.
func (c *Context) await(op *operation) error {
	var err error
	switch cond := func() bool { return op.arrived() }; {
	case op.team != nil:
		err = c.WaitCall(op.call, op, cond)
	case op.peer != several:
		err = c.WaitPeer(op.call, op.peer, cond)
	default:
		err = c.WaitFor(op.call, cond)
	}
	if err == nil && !op.done() { // a payload is in use, of whose end no handler tells
		err = c.WaitSilent(op.done)
	}
	return err
}

// answered returns the operation that a message from outside names, or ends the job if it
// waits for nothing.
func (ep *Endpoint) answered(t *core.Token, number uint32) *operation {
	if op := ep.ops.at(number); op != nil && op.pending.Load() > 0 {
		return op
	}
	ep.malformed(t, "it answers operation %d, which is not under way", number)
	return nil
}

// onDone handles [number]: a part of an operation is done.
func (ep *Endpoint) onDone(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if op := ep.answered(t, args[0]); op != nil {
		ep.finish(op, 1)
	}
}
