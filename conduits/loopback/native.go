package loopback

import "github.com/aqueduct-go/aqueduct/core"

// native is the conduit of the profile of that name: a network that carries out puts, gets
// and atomic operations itself.
type native struct{ *conduit }

func newNative() native {
	c := new(conduit)
	c.mover = &engine{c: c}
	return native{c}
}

// MaxPut implements core.Putter.
func (n native) MaxPut() int { return n.most }

// Put implements core.Putter.
func (n native) Put(t *core.Transfer) core.Result {
	if len(t.Mem) < n.least {
		return core.Declined
	}
	return n.mover.begin(task{
		kind: put, dst: n.nodes[t.Rank], off: t.Off, mem: t.Mem, lc: t.LC, done: t.Done,
		bytes: len(t.Mem),
	})
}

// MaxGet implements core.Getter.
func (n native) MaxGet() int { return n.most }

// Get implements core.Getter.
func (n native) Get(t *core.Transfer) core.Result {
	if len(t.Mem) < n.least {
		return core.Declined
	}
	return n.mover.begin(task{kind: get, dst: n.nodes[t.Rank], off: t.Off, mem: t.Mem, done: t.Done})
}

// AtomicOps implements core.Atomics: integers have all operations, floats none.
func (n native) AtomicOps(t core.ElementType) core.AtomicOp {
	if t == core.ElementFloat32 || t == core.ElementFloat64 {
		return 0
	}
	const plain = core.AtomicCAS<<1 - 1
	return plain | plain<<core.FetchShift | core.AtomicGet
}

// Atomic implements core.Atomics.
func (n native) Atomic(a *core.Atomic) core.Result {
	if a.Op&n.AtomicOps(a.Type) == 0 {
		return core.Declined
	}
	return n.mover.begin(task{
		kind: update, dst: n.nodes[a.Rank], off: a.Off, mem: a.Fetched, done: a.Done,
		op: a.Op, a: a.A, b: a.B, typ: a.Type, bytes: 2 * a.Type.Size(),
	})
}
