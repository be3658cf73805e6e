package myrinet

import (
	"fmt"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// transfer is a put or a get under way.
type transfer struct {
	c      *conduit
	done   *core.Completion
	into   []byte      // of a get through bounce memory: where its bytes are to go
	bounce []byte      // and where they are
	told   func(error) // ended, made once
	next   *transfer   // of those that are idle
}

// MaxPut implements core.Putter.
func (c *conduit) MaxPut() int { return c.long }

// Put implements core.Putter: RM-V. The bytes are copied, so that the source may be reused at once.
func (c *conduit) Put(t *core.Transfer) core.Result {
	if t.Rank == c.rank {
		return c.local(c.segment[t.Off:], t.Mem)
	}
	if !c.oneSided.Room(min(len(t.Mem), c.oneSided.MostPayload()), c.depth) {
		return core.NoRoom
	}
	x := c.transfer(t.Done)
	if err := c.oneSided.Write(c.site.endpoint(t.Rank), c.remote(t.Rank, t.Off), t.Mem, grim.RMOptions{Done: x.told}); err != nil {
		c.port.Fail(err)
		return core.Initiated
	}
	if t.LC != nil {
		t.LC.Complete()
	}
	return core.Initiated
}

// MaxGet implements core.Getter.
func (c *conduit) MaxGet() int { return c.long }

// Get implements core.Getter: RM-RV. What is to go into memory of the program's that is not registered comes into memory of the conduit's that is,
// and is copied from there.
func (c *conduit) Get(t *core.Transfer) core.Result {
	if t.Rank == c.rank {
		return c.local(t.Mem, c.segment[t.Off:][:len(t.Mem)])
	}
	if !c.oneSided.Room(grim.HeaderSize, c.depth) {
		return core.NoRoom
	}
	region, off, inside := c.region, uint64(0), false
	if c.region != nil {
		off, inside = within(c.segment, t.Mem)
	}
	x := c.transfer(t.Done)
	if !inside {
		if len(t.Mem) > c.bounce {
			c.give(x)
			return core.Declined
		}
		if c.bounces.memory == nil {
			if err := c.makeBounces(); err != nil {
				c.port.Fail(err)
				return core.Initiated
			}
		}
		at, ok := c.bounces.take(len(t.Mem))
		if !ok {
			c.give(x)
			return core.NoRoom
		}
		region, off = c.bounceRegion, uint64(at)
		x.into, x.bounce = t.Mem, region.Bytes()[off:][:len(t.Mem)]
	}
	if err := c.oneSided.Read(c.site.endpoint(t.Rank), c.remote(t.Rank, t.Off), region, off, len(t.Mem), grim.RMOptions{Done: x.told}); err != nil {
		c.port.Fail(err)
	}
	return core.Initiated
}

// local copies within the host.
func (c *conduit) local(to, from []byte) core.Result {
	n := copy(to, from)
	c.proc.Charge(c.site.profile.Host.Copy.Time(n))
	return core.Completed
}

// transfer returns the record of one.
func (c *conduit) transfer(done *core.Completion) *transfer {
	x := c.transfers
	if x == nil {
		x = &transfer{c: c}
		x.told = x.ended
	} else {
		c.transfers, x.next = x.next, nil
	}
	x.done = done
	return x
}

func (c *conduit) give(x *transfer) {
	x.done, x.into, x.bounce = nil, nil, nil
	x.next, c.transfers = c.transfers, x
}

// ended is called by an event: the next poll tells of it.
func (x *transfer) ended(err error) {
	if err != nil {
		x.c.port.Fail(fmt.Errorf("myrinet: rank %d: %w", x.c.rank, err))
		return
	}
	x.c.ended.Push(x)
	x.c.proc.Arrive()
}

// complete tells of the transfers that have ended, and returns how many these are.
func (c *conduit) complete() (n int) {
	for ; ; n++ {
		x, ok := c.ended.Pop()
		if !ok {
			return n
		}
		if x.bounce != nil {
			c.local(x.into, x.bounce)
			c.bounces.end(x.bounce)
		}
		done := x.done
		c.give(x)
		done.Complete()
	}
}

// makeBounces makes the memory of bounces.
func (c *conduit) makeBounces() (err error) {
	memory := make([]byte, c.bounce)
	if c.bounceRegion, err = c.endpoint.RegisterMemory(memory, grim.Pinned); err == nil {
		c.bounces.memory = memory
	}
	return err
}

// bounces is registered memory through which gets go, in turn.
type bounces struct {
	memory []byte           // nil: not made yet
	parts  fifo.Queue[part] // in the order in which they were taken
	back   int              // where the next part begins if it fits there
}

// part is a part of the memory that a get has, or has had before those that were taken earlier have ended.
type part struct {
	at, size int
	ended    bool
}

// take returns where n bytes are; false: there is no room now. n is not more than there is.
func (b *bounces) take(n int) (at int, ok bool) {
	at = b.back
	if b.parts.Len() == 0 {
		at = 0
	} else {
		front := b.parts.At(0).at
		switch {
		case at <= front && front-at < n:
			return 0, false
		case at <= front:
		case len(b.memory)-at >= n:
		case front >= n:
			at = 0
		default:
			return 0, false
		}
	}
	b.parts.Push(part{at: at, size: n})
	b.back = at + n
	return at, true
}

// end gives a part back.
func (b *bounces) end(bytes []byte) {
	off, _ := within(b.memory, bytes)
	for i := range b.parts.Len() {
		if p := b.parts.At(i); p.at == int(off) && !p.ended {
			p.ended = true
			break
		}
	}
	for b.parts.Len() > 0 && b.parts.At(0).ended {
		b.parts.Drop()
	}
}

// within returns where in memory b lies, if it does.
func within(memory, b []byte) (off uint64, ok bool) {
	d := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return uint64(d), d <= uintptr(len(memory)) && uintptr(len(b)) <= uintptr(len(memory))-d
}
