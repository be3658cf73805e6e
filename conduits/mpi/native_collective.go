package mpi

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Collector is an optional power of a Transport: collective operations of the ranks of its group.
type Collector interface {
	// MaxCollective returns the bytes of the longest buffer of an operation; 0: there are none. It
	// is called once, before the other calls.
	MaxCollective() int
	// Collects reports whether Collect carries out an operation: the same on all ranks.
	Collects(x *core.Collective) bool
	// Collect begins an operation of these, without waiting for anything. All ranks begin the same in
	// the same order. Progress makes it progress and returns its completion, with this ID alone; until
	// then the memory that it names, outside the Go heap or pinned, belongs to the transport. x does
	// not, and Done is the engine's. The elements of reductions are aligned. What all ranks have begun
	// Close completes.
	Collect(x *core.Collective, id uint64) error
}

const (
	// maxCollectives is the number of collective operations that the transport is given at once:
	// it looks at each of them in every Progress.
	maxCollectives = 64
	// together is the number of operations with a root after which all ranks meet in a barrier. A
	// root that need not wait for anybody would otherwise send broadcasts without end to a rank that
	// computes; all others keep their ranks together by themselves.
	together = 32
)

// collective is a collective operation.
type collective struct {
	core.Collective        // Done is nil for a meeting
	result          []byte // if Dst is a copy: where the result goes
	pin             runtime.Pinner
}

// joint is the rank's end of collective operations.
type joint struct {
	t       Collector          // nil: there is none
	all     []*collective      // by number
	idle    []uint32           // those that are free
	waiting fifo.Queue[uint32] // to be begun, in this order
	begun   int                // how many are under way
	rooted  int                // operations with a root since the last meeting was put in
	meets   bool               // a meeting is under way: nothing else begins
	ended   []uint32           // of which nobody has been told
}

// MaxCollective implements core.Collectives.
func (c *conduit) MaxCollective() int {
	t, ok := c.t.(Collector)
	if !ok {
		return 0
	}
	c.joint.t = t
	return t.MaxCollective()
}

// Collective implements core.Collectives.
func (c *conduit) Collective(x *core.Collective) core.Result {
	c.lock()
	defer c.unlock()
	j := &c.joint
	if !j.t.Collects(x) {
		return core.Declined
	}
	j.add(*x)
	if x.Op == core.CollectiveBroadcast || x.Op == core.CollectiveReduce {
		if j.rooted++; j.rooted == together {
			j.rooted = 0
			j.add(core.Collective{Op: core.CollectiveBarrier})
		}
	}
	c.beginCollectives()
	return core.Initiated
}

// add appends an operation to those that wait.
func (j *joint) add(x core.Collective) {
	if len(j.idle) == 0 {
		j.idle = append(j.idle, uint32(len(j.all)))
		j.all = append(j.all, new(collective))
	}
	n := j.idle[len(j.idle)-1]
	j.idle = j.idle[:len(j.idle)-1]
	k := j.all[n]
	k.Collective = x
	k.align()
	j.waiting.Push(n)
}

// align replaces buffers of a reduction whose elements are not aligned by copies. What is in place
// stays so.
func (k *collective) align() {
	size := k.Type.Size()
	if k.Op != core.CollectiveReduce && k.Op != core.CollectiveAllReduce || aligned(k.Dst, size) && aligned(k.Src, size) {
		return
	}
	src := bytes.Clone(k.Src)
	if len(k.Dst) > 0 {
		k.result = k.Dst
		if k.Dst = src; &k.result[0] != &k.Src[0] {
			k.Dst = make([]byte, len(src))
		}
	}
	k.Src = src
}

// beginCollectives begins what waits and may begin.
func (c *conduit) beginCollectives() {
	for j := &c.joint; j.waiting.Len() > 0 && j.begun < maxCollectives && !j.meets && !c.broken; {
		c.beginCollective()
	}
}

// beginCollective begins the first that waits.
func (c *conduit) beginCollective() {
	j := &c.joint
	n, _ := j.waiting.Pop()
	k := j.all[n]
	for _, mem := range [...][]byte{k.Dst, k.Src} {
		if len(mem) > 0 {
			k.pin.Pin(&mem[0])
		}
	}
	if err := j.t.Collect(&k.Collective, idOf(ofCollective, 0, int(n))); err != nil {
		c.fail(fmt.Errorf("mpi: rank %d: %w", c.rank, err))
		return
	}
	j.begun++
	c.begun()
	j.meets = k.Done == nil
}

// completeCollectives tells of what has ended, has those that wait begin, and returns how many have
// ended.
func (c *conduit) completeCollectives() int {
	j := &c.joint
	n := len(j.ended)
	if n == 0 {
		return 0
	}
	for _, i := range j.ended {
		k := j.all[i]
		k.pin.Unpin()
		copy(k.result, k.Dst)
		if k.Done != nil {
			k.Done.Complete()
		} else {
			j.meets = false
		}
		k.Collective, k.result = core.Collective{}, nil
		j.idle = append(j.idle, i)
	}
	j.ended = j.ended[:0]
	j.begun -= n
	c.beginCollectives()
	return n
}

// beginAllCollectives begins what waits, for a transport that is about to close: if all ranks have
// made the same calls, all have begun the same then.
func (c *conduit) beginAllCollectives() {
	for c.joint.waiting.Len() > 0 && !c.broken {
		c.beginCollective()
	}
}

// forgetCollectives lets go of the memory of what was under way when the transport closed.
func (c *conduit) forgetCollectives() {
	for _, k := range c.joint.all {
		k.pin.Unpin()
	}
}
