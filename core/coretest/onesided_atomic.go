package coretest

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/core"
)

// number is what elements are in Go.
type number interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// word64 reads 8 bytes in the machine's order.
func word64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// element is a type of elements, and how its values are bits.
type element[E number] struct {
	typ  core.ElementType
	bits func(E) uint64
	of   func(uint64) E
}

func integer[E int32 | uint32 | int64 | uint64](typ core.ElementType) element[E] {
	mask := ^uint64(0) >> (64 - 8*typ.Size())
	return element[E]{typ, func(x E) uint64 { return uint64(x) & mask }, func(b uint64) E { return E(b) }}
}

func oneSidedOperations(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	return errors.Join(
		operations(t, ep, integer[int32](core.ElementInt32)),
		operations(t, ep, integer[uint32](core.ElementUint32)),
		operations(t, ep, integer[int64](core.ElementInt64)),
		operations(t, ep, integer[uint64](core.ElementUint64)),
		operations(t, ep, element[float32]{core.ElementFloat32,
			func(x float32) uint64 { return uint64(math.Float32bits(x)) },
			func(b uint64) float32 { return math.Float32frombits(uint32(b)) }}),
		operations(t, ep, element[float64]{core.ElementFloat64, math.Float64bits, math.Float64frombits}),
	)
}

// operations does what the conduit names on elements of T at the next rank, one operation
// after the other, and compares with the definition.
func operations[E number](t *T, ep *core.Endpoint, e element[E]) error {
	owner, size, rnd := t.Next(), e.typ.Size(), t.Rand()
	ops := ep.NativeOps(e.typ)
	base := uint64(e.typ)*256 + uint64(t.Rank())*128 // the caller's place, between two elements that stay 0
	off := base + uint64(size)
	do := func(op core.AtomicOp, a, b uint64) (uint64, error) {
		var done core.Completion
		fetched := make([]byte, 8)
		if _, err := ep.AtomicNative(owner, off, e.typ, op, a, b, fetched[:size], &done); err != nil {
			return 0, err
		}
		err := quiet(t, &ep.Context, &done)
		if size == 4 {
			return uint64(binary.NativeEndian.Uint32(fetched)), err
		}
		return word64(fetched), err
	}
	if ops&core.AtomicGet == 0 || ops&core.AtomicSet == 0 {
		ops = 0 // nothing to see the results by
	}
	for range t.Times(10) {
		for op := core.AtomicAnd; op != 0; op <<= 1 {
			if ops&op == 0 {
				continue
			}
			x, a, b := random(rnd, e), random(rnd, e), random(rnd, e)
			if rnd.IntN(2) == 0 {
				a = x // for comparisons
			}
			if _, err := do(core.AtomicSet, e.bits(x), 0); err != nil {
				return err
			}
			old, err := do(op, e.bits(a), e.bits(b))
			if err != nil {
				return err
			}
			is, err := do(core.AtomicGet, 0, 0)
			if err != nil {
				return err
			}
			if want := meaning(e, op, x, a, b); is != want || op.Fetching() && old != e.bits(x) {
				t.Errorf("operation %#x of type %#x with %v and %v on %v made %#x, want %#x, and fetched %#x, want %#x",
					op, e.typ, a, b, x, is, want, old, e.bits(x))
			}
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	mine := ep.Segment()
	for r := range core.Rank(t.Size()) {
		for _, at := range []int{0, 2 * size} {
			place := int(uint64(e.typ)*256+uint64(r)*128) + at
			for _, x := range mine[place : place+size] {
				if x != 0 {
					t.Errorf("an operation on type %#x touched what lies beside its element", e.typ)
				}
			}
		}
	}
	return ep.Barrier()
}

// random returns a number; floats are such that results are exact.
func random[E number](rnd *rand.Rand, e element[E]) E {
	if e.typ&(core.ElementFloat32|core.ElementFloat64) != 0 {
		return E(rnd.IntN(2000) - 1000)
	}
	return e.of(rnd.Uint64())
}

// meaning returns the bits of what an operation makes of x.
func meaning[E number](e element[E], op core.AtomicOp, x, a, b E) uint64 {
	if op.Fetching() {
		op >>= core.FetchShift
	}
	switch op {
	case core.AtomicAnd:
		return e.bits(x) & e.bits(a)
	case core.AtomicOr:
		return e.bits(x) | e.bits(a)
	case core.AtomicXor:
		return e.bits(x) ^ e.bits(a)
	case core.AtomicAdd:
		x += a
	case core.AtomicSub:
		x -= a
	case core.AtomicMult:
		x *= a
	case core.AtomicMin:
		x = min(x, a)
	case core.AtomicMax:
		x = max(x, a)
	case core.AtomicInc:
		x++
	case core.AtomicDec:
		x--
	case core.AtomicSet:
		x = a
	case core.AtomicCAS:
		if e.bits(x) == e.bits(a) {
			x = b
		}
	}
	return e.bits(x)
}

func oneSidedTickets(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	rounds := t.Times(200)
	got := make([]byte, 8*rounds)
	var done core.Completion
	for i := range rounds {
		if _, err := ep.AtomicNative(0, 0, core.ElementUint64, fetchAdd, 1, 0, got[8*i:8*i+8], &done); err != nil {
			return err
		}
	}
	if err := quiet(t, &ep.Context, &done); err != nil {
		return err
	}
	// Whoever drew a ticket marks it at rank 0, by an atomic too.
	for i := range rounds {
		ticket := word64(got[8*i:])
		if ticket >= uint64(rounds*t.Size()) {
			t.Errorf("ticket %d of %d", ticket, rounds*t.Size())
			continue
		}
		if _, err := ep.AtomicNative(0, 8+8*ticket, core.ElementUint64, core.AtomicAdd, 1, 0, nil, &done); err != nil {
			return err
		}
	}
	if err := quiet(t, &ep.Context, &done); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	for k := 0; t.Rank() == 0 && k < rounds*t.Size(); k++ {
		if n := word64(ep.Segment()[8+8*k:]); n != 1 {
			t.Errorf("ticket %d was drawn %d times", k, n)
		}
	}
	return t.Err()
}
