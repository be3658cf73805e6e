package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/element"
)

// Reduction says how elements are combined. It is the same on all members.
type Reduction struct {
	Type Type // of the elements, with Op
	Op   Op   // Add, Mult, Min, Max; of integers also And, Or, Xor

	// Func, if not nil, is the operator instead: dst[i] = dst[i] ⊕ src[i] for as many elements
	// of Size bytes as the slices hold. It runs where handlers run: it must not call the
	// library. It must be associative.
	Func func(dst, src []byte)
	Size int
	// Ordered says that Func does not commute: elements are combined in order of rank.
	Ordered bool
}

// operator returns a reduction's element size and function, and a number that tells it
// from others in a signature.
func (r *Reduction) operator() (size int, combine func(dst, src []byte), kind uint32, err error) {
	if r.Func != nil {
		return r.Size, r.Func, userKind | uint32(r.Size), nil
	}
	combine, err = combiner(r.Type, r.Op)
	return r.Type.Size(), combine, uint32(r.Type+1)<<24 | uint32(r.Op), err
}

// combiner returns the kernel of a reduction.
func combiner(t Type, op Op) (element.Kernel, error) {
	switch {
	case !t.valid():
		return nil, fmt.Errorf("%v is no type of elements", t)
	case !op.single() || op&reduceOps == 0:
		return nil, fmt.Errorf("%v does not reduce; use one of %v", op, reduceOps)
	case op&t.Ops() == 0:
		return nil, fmt.Errorf("%v is not defined for %v", op, t)
	}
	return element.KernelOf(core.ElementType(t), core.AtomicOp(op)), nil
}

// userKind marks the kind of a reduction with an operator of the program's own.
const userKind = 0xff << 24

// typed returns the type and the operator of a kind that is not of the program's own.
func typed(kind uint32) (Type, Op) { return Type(kind>>24 - 1), Op(kind & 0xffffff) }

// Reduce combines the sources of all members, which have equal lengths, into dst of member
// root; elsewhere dst is ignored. At the root they may be the same.
func (t *Team) Reduce(c *Context, root int, dst, src []byte, r Reduction) error {
	return c.finish(t.ReduceNB(c, root, dst, src, r))
}

// ReduceNB is Reduce with an event.
func (t *Team) ReduceNB(c *Context, root int, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, coll.Call{Op: coll.Reduce, Root: root}, dst, src, &r)
}

// AllReduce combines the sources of all members, which have equal lengths, into dst of
// every member. dst and src may be the same, on all members or on none.
func (t *Team) AllReduce(c *Context, dst, src []byte, r Reduction) error {
	return c.finish(t.AllReduceNB(c, dst, src, r))
}

// AllReduceNB is AllReduce with an event.
func (t *Team) AllReduceNB(c *Context, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, coll.Call{Op: coll.AllReduce}, dst, src, &r)
}

// Scan combines the sources of members 0 to i, which have equal lengths, into dst of member
// i, for all i. dst and src may be the same, on all members or on none.
func (t *Team) Scan(c *Context, dst, src []byte, r Reduction) error {
	return c.finish(t.ScanNB(c, dst, src, r))
}

// ScanNB is Scan with an event.
func (t *Team) ScanNB(c *Context, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, coll.Call{Op: coll.Scan}, dst, src, &r)
}

// ExScan is Scan without the member's own source: member i gets what members 0 to i-1 have
// together, and dst of member 0 is left alone.
func (t *Team) ExScan(c *Context, dst, src []byte, r Reduction) error {
	return c.finish(t.ExScanNB(c, dst, src, r))
}

// ExScanNB is ExScan with an event.
func (t *Team) ExScanNB(c *Context, dst, src []byte, r Reduction) (Event, error) {
	return t.reduce(c, coll.Call{Op: coll.ExScan}, dst, src, &r)
}

// reduce begins a reduction.
func (t *Team) reduce(c *Context, k coll.Call, dst, src []byte, r *Reduction) (Event, error) {
	size, combine, kind, err := r.operator()
	switch {
	case err != nil:
		return 0, c.ep.misuse(k.Op.String(), "%v", err)
	case size <= 0 || len(src)%size != 0:
		return 0, c.ep.misuse(k.Op.String(), "%d bytes are no whole number of elements of %d bytes", len(src), size)
	case (k.Op != coll.Reduce || t.Rank() == k.Root) && len(dst) != len(src):
		return 0, c.ep.misuse(k.Op.String(), "the destination has %d bytes, the source %d", len(dst), len(src))
	}
	k.Bytes, k.Elem, k.Commutes = len(src), size, !r.Ordered
	return t.begin(c, k, dst, src, combine, kind)
}
