package myrinet

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// MaxPut implements core.Putter.
func (c *live) MaxPut() int { return c.long }

// MaxGet implements core.Getter.
func (c *live) MaxGet() int { return c.long }

// Put implements core.Putter: RM-V. The bytes are copied, so that the source may be reused at once.
func (c *live) Put(t *core.Transfer) core.Result {
	if t.Rank == c.rank {
		copy(c.segment[t.Off:], t.Mem)
		return core.Completed
	}
	c.mu.Lock()
	op, ok := c.begin(len(t.Mem), t.Done)
	if !ok {
		c.mu.Unlock()
		return core.NoRoom
	}
	c.ops[op].left = c.write(c.puts, c.site.endpoint(t.Rank), c.remote(t.Rank, t.Off), t.Mem, op)
	c.note()
	c.mu.Unlock()
	c.ring()
	if t.LC != nil {
		t.LC.Complete()
	}
	return core.Initiated
}

// Get implements core.Getter: RM-RV. What is to go into memory of the program's that is not registered comes into memory of the board that is, and is copied from there.
func (c *live) Get(t *core.Transfer) core.Result {
	if t.Rank == c.rank {
		copy(t.Mem, c.segment[t.Off:][:len(t.Mem)])
		return core.Completed
	}
	off, inside := uint64(0), false
	if len(c.segment) > 0 {
		off, inside = within(c.segment, t.Mem)
	}
	if !inside && len(t.Mem) > len(c.bounces.memory) {
		return core.Declined
	}
	r := c.get(t, off, inside)
	if r == core.Initiated {
		c.ring()
	}
	return r
}

// get orders a get.
func (c *live) get(t *core.Transfer, off uint64, inside bool) core.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	into := grim.Remote{Key: c.keys[c.rank], Offset: off}
	var bounce []byte
	if !inside {
		at, ok := c.bounces.take(len(t.Mem))
		if !ok {
			return core.NoRoom
		}
		into, bounce = grim.Remote{Key: c.bounceKey, Offset: uint64(at)}, c.bounces.memory[at:][:len(t.Mem)]
	}
	op, ok := c.begin(0, t.Done)
	if !ok {
		if bounce != nil {
			c.bounces.end(bounce)
		}
		return core.NoRoom
	}
	o := &c.ops[op]
	o.left = 1
	if bounce != nil {
		o.into, o.bounce = t.Mem, bounce
	}
	c.order = record{kind: orderRead, peer: c.site.endpoint(t.Rank), op: op, at: c.remote(t.Rank, t.Off), into: into, length: len(t.Mem)}
	c.puts.send(&c.order)
	c.note()
	return core.Initiated
}

// begin returns the number of a new operation whose first order has n bytes; false: there is no room. The caller has c.mu.
func (c *live) begin(n int, done *core.Completion) (op uint32, ok bool) {
	if !c.room(c.puts, n) {
		return 0, false
	}
	if len(c.ops) == 0 {
		c.ops = append(c.ops, operation{}) // 0 stands for none
	}
	if k := len(c.freeOps); k > 0 {
		op = c.freeOps[k-1]
		c.freeOps = c.freeOps[:k-1]
	} else if len(c.ops) == mostOps {
		c.puts.refused = true
		c.note()
		return 0, false
	} else {
		op = uint32(len(c.ops))
		c.ops = append(c.ops, operation{})
	}
	c.ops[op] = operation{done: done}
	return op, true
}

// ended takes note that an order of an operation is done, and tells of the operation when that is done.
func (c *live) ended(op uint32) error {
	c.mu.Lock()
	if op == 0 || int(op) >= len(c.ops) || c.ops[op].left == 0 {
		c.mu.Unlock()
		return fmt.Errorf("the NIC reports the end of operation %d, which is not under way", op)
	}
	o := &c.ops[op]
	if o.left--; o.left > 0 {
		c.mu.Unlock()
		return nil
	}
	if o.bounce != nil {
		copy(o.into, o.bounce)
		c.bounces.end(o.bounce)
	}
	done := o.done
	*o = operation{}
	c.freeOps = append(c.freeOps, op)
	c.mu.Unlock()
	done.Complete()
	return nil
}
