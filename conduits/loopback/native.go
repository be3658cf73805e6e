package loopback

import "github.com/aqueduct-go/aqueduct/core"

// The methods below are the powers of profile native: a network that carries out puts, gets and
// atomic operations itself.

// MaxPut implements core.Putter.
func (c *conduit) MaxPut() int { return c.most }

// Put implements core.Putter.
func (c *conduit) Put(t *core.Transfer) core.Result {
	if len(t.Mem) < c.least {
		return core.Declined
	}
	return c.mover.begin(task{
		kind: put, dst: c.nodes[t.Rank], off: t.Off, mem: t.Mem, lc: t.LC, done: t.Done,
		bytes: len(t.Mem),
	})
}

// MaxGet implements core.Getter.
func (c *conduit) MaxGet() int { return c.most }

// Get implements core.Getter.
func (c *conduit) Get(t *core.Transfer) core.Result {
	if len(t.Mem) < c.least {
		return core.Declined
	}
	return c.mover.begin(task{kind: get, dst: c.nodes[t.Rank], off: t.Off, mem: t.Mem, done: t.Done})
}

// AtomicOps implements core.Atomics: integers have all operations, floats none.
func (c *conduit) AtomicOps(t core.ElementType) core.AtomicOp {
	if t == core.ElementFloat32 || t == core.ElementFloat64 {
		return 0
	}
	const plain = core.AtomicCAS<<1 - 1
	return plain | plain<<core.FetchShift | core.AtomicGet
}

// Atomic implements core.Atomics.
func (c *conduit) Atomic(a *core.Atomic) core.Result {
	if a.Op&c.AtomicOps(a.Type) == 0 {
		return core.Declined
	}
	return c.mover.begin(task{
		kind: update, dst: c.nodes[a.Rank], off: a.Off, mem: a.Fetched, done: a.Done,
		op: a.Op, a: a.A, b: a.B, typ: a.Type, bytes: 2 * a.Type.Size(),
	})
}
