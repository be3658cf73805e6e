package mpi

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

// maxAccess is the number of one-sided operations that may be under way.
const maxAccess = 64

// element is the bytes of the largest element of an atomic operation.
const element = 8

// access is a one-sided operation.
type access struct {
	words    []byte // two elements outside the Go heap: an operand, and what is fetched
	fetched  []byte // where that goes
	mem      []byte // the caller's memory, kept alive
	pin      runtime.Pinner
	lc, done *core.Completion
}

// remote is the rank's end of remote memory access.
type remote struct {
	t     Accessor // nil: there is none
	idle  []*access
	begun []*access // complete when the next Progress of the transport returns
}

// segment makes the segment: the transport's, if it provides access to that.
func (c *conduit) segment(size int) ([]byte, error) {
	if t, ok := c.t.(Accessor); ok {
		if segment, err := t.Segment(size); err != nil {
			return nil, err
		} else if segment != nil {
			c.remote.t = t
			return segment, c.allocateAccesses()
		}
	}
	if size == 0 {
		return nil, nil
	}
	return c.region(size)
}

// allocateAccesses makes the records of one-sided operations.
func (c *conduit) allocateAccesses() error {
	words, err := c.pieces(maxAccess, 2*element)
	if err != nil {
		return err
	}
	for _, w := range words {
		c.remote.idle = append(c.remote.idle, &access{words: w})
	}
	return nil
}

// MaxPut implements core.Putter: 0 without remote memory access.
func (c *conduit) MaxPut() int {
	if c.remote.t == nil {
		return 0
	}
	return math.MaxInt32 // what MPI counts in
}

// MaxGet implements core.Getter: 0 without remote memory access.
func (c *conduit) MaxGet() int { return c.MaxPut() }

// Put implements core.Putter.
func (c *conduit) Put(t *core.Transfer) core.Result {
	return c.transfer(AccessPut, t)
}

// Get implements core.Getter.
func (c *conduit) Get(t *core.Transfer) core.Result {
	return c.transfer(AccessGet, t)
}

func (c *conduit) transfer(what AccessKind, t *core.Transfer) core.Result {
	c.lock()
	defer c.unlock()
	k, no := c.takeAccess()
	if k == nil {
		return no
	}
	a := Access{What: what, Rank: t.Rank, Off: t.Off, Mem: t.Mem}
	if what == AccessPut && len(t.Mem) <= core.MaxInline {
		a.Mem = k.words[:copy(k.words, t.Mem)]
	} else {
		k.mem = t.Mem
		k.pin.Pin(&t.Mem[0])
	}
	k.lc, k.done = t.LC, t.Done
	return c.beginAccess(k, &a)
}

// AtomicOps implements core.Atomics: additions and reads, since MPI promises atomicity only among
// operations that are the same, or read (MPI 3.1, section 11.7.1).
func (c *conduit) AtomicOps(t core.ElementType) core.AtomicOp {
	const integers = core.ElementInt32 | core.ElementUint32 | core.ElementInt64 | core.ElementUint64
	if c.remote.t == nil || t&integers == 0 {
		return 0
	}
	const sums = core.AtomicAdd | core.AtomicSub | core.AtomicInc | core.AtomicDec
	return sums | sums<<core.FetchShift | core.AtomicGet
}

// Atomic implements core.Atomics.
func (c *conduit) Atomic(t *core.Atomic) core.Result {
	c.lock()
	defer c.unlock()
	k, no := c.takeAccess()
	if k == nil {
		return no
	}
	size := t.Type.Size()
	a := Access{What: AccessAdd, Rank: t.Rank, Off: t.Off, Mem: k.words[:size], Fetch: k.words[element : element+size]}
	operand := t.A
	switch op := t.Op; op {
	case core.AtomicGet:
		a.What = AccessFetch
	case core.AtomicSub, core.AtomicSub << core.FetchShift:
		operand = -t.A
	case core.AtomicInc, core.AtomicInc << core.FetchShift:
		operand = 1
	case core.AtomicDec, core.AtomicDec << core.FetchShift:
		operand = ^uint64(0)
	}
	if size == 4 {
		binary.NativeEndian.PutUint32(k.words, uint32(operand))
	} else {
		binary.NativeEndian.PutUint64(k.words, operand)
	}
	k.fetched, k.done = t.Fetched, t.Done
	return c.beginAccess(k, &a)
}

// takeAccess returns a free record, or why there is none.
func (c *conduit) takeAccess() (*access, core.Result) {
	r := &c.remote
	switch {
	case r.t == nil:
		return nil, core.Declined
	case len(r.idle) == 0 || c.broken:
		return nil, core.NoRoom
	}
	k := r.idle[len(r.idle)-1]
	r.idle = r.idle[:len(r.idle)-1]
	return k, core.Initiated
}

func (c *conduit) beginAccess(k *access, a *Access) core.Result {
	r := &c.remote
	if err := r.t.Access(a); err != nil {
		c.fail(fmt.Errorf("mpi: rank %d: %w", c.rank, err))
		return core.NoRoom // whoever waits for room finds out why
	}
	r.begun = append(r.begun, k)
	return core.Initiated
}

// completeAccesses tells of what has become complete by the last Progress, and returns how many.
func (c *conduit) completeAccesses() int {
	r := &c.remote
	n := len(r.begun)
	if n == 0 || c.broken {
		return 0
	}
	for _, k := range r.begun {
		if k.mem != nil {
			k.pin.Unpin()
		}
		copy(k.fetched, k.words[element:])
		if k.lc != nil {
			k.lc.Complete()
		}
		k.done.Complete()
		k.fetched, k.mem, k.lc, k.done = nil, nil, nil, nil
		r.idle = append(r.idle, k)
	}
	r.begun = r.begun[:0]
	return n
}
