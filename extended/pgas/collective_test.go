package pgas_test

import (
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// reduced compares all-reductions of a vector and of a value with a fold over all members.
func reduced[T comparable](t *coretest.T, ep *extended.Endpoint, op pgas.Op[T], fold func(a, b T) T, value func(rank, i int) T) error {
	c, w := &ep.Context, ep.World()
	const n = 33
	src, dst, want := make([]T, n), make([]T, n), make([]T, n)
	for i := range n {
		src[i], want[i] = value(w.Rank(), i), value(0, i)
		for r := 1; r < w.Size(); r++ {
			want[i] = fold(want[i], value(r, i))
		}
	}
	if err := pgas.AllReduce(c, w, dst, src, op); err != nil {
		return err
	}
	if !slices.Equal(dst, want) {
		t.Errorf("AllReduce of %T: %v, want %v", dst, dst, want)
	}
	root := w.Size() - 1
	clear(dst)
	if err := pgas.Reduce(c, w, root, dst, src, op); err != nil {
		return err
	}
	if w.Rank() == root && !slices.Equal(dst, want) {
		t.Errorf("Reduce of %T: %v, want %v", dst, dst, want)
	}
	clear(dst)
	for _, scan := range []func(*extended.Context, *extended.Team, []T, []T, pgas.Op[T]) error{pgas.Scan[T], pgas.ExScan[T]} {
		if err := scan(c, w, dst, src, op); err != nil {
			return err
		}
	}
	for i := range dst { // what is before this member
		before := value(0, i)
		for r := 1; r < w.Rank(); r++ {
			before = fold(before, value(r, i))
		}
		if w.Rank() == 0 {
			before = value(0, i) // of Scan: ExScan leaves it alone
		}
		if dst[i] != before {
			t.Errorf("ExScan of %T: element %d is %v, want %v", dst, i, dst[i], before)
		}
	}
	v, err := pgas.AllReduceValue(c, w, src[5], op)
	if err == nil && v != want[5] {
		t.Errorf("AllReduceValue of %T: %v, want %v", v, v, want[5])
	}
	return err
}

func reduceOperators(t *coretest.T) error {
	ep, _, err := attach(t)
	if err != nil {
		return err
	}
	bits := func(r, i int) uint16 { return uint16(0x5a5a*(r+3) ^ i*257) }
	floats := func(r, i int) float64 { return float64((r*31+i*17)%11 - 5) }
	for _, f := range []func() error{
		func() error {
			return reduced(t, ep, pgas.Add[float64](), func(a, b float64) float64 { return a + b }, floats)
		},
		func() error {
			return reduced(t, ep, pgas.Mult[float64](), func(a, b float64) float64 { return a * b }, floats)
		},
		func() error { return reduced(t, ep, pgas.Min[float64](), math.Min, floats) },
		func() error { return reduced(t, ep, pgas.Max[float64](), math.Max, floats) },
		func() error {
			return reduced(t, ep, pgas.And[uint16](), func(a, b uint16) uint16 { return a & b }, bits)
		},
		func() error {
			return reduced(t, ep, pgas.Or[uint16](), func(a, b uint16) uint16 { return a | b }, bits)
		},
		func() error {
			return reduced(t, ep, pgas.Xor[uint16](), func(a, b uint16) uint16 { return a ^ b }, bits)
		},
		func() error {
			return reduced(t, ep, pgas.Add[int](), func(a, b int) int { return a + b }, func(r, i int) int { return r - i })
		},
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return t.Err()
}

// affine is x → A·x + B modulo 2³²; composition is associative and does not commute.
type affine struct{ A, B uint32 }

func (f affine) then(g affine) affine { return affine{f.A * g.A, g.A*f.B + g.B} }

func reduceOrdered(t *coretest.T) error {
	ep, _, err := attach(t)
	if err != nil {
		return err
	}
	op := pgas.Ordered(func(dst, src []affine) {
		for i := range dst {
			dst[i] = dst[i].then(src[i])
		}
	})
	err = reduced(t, ep, op, affine.then, func(r, i int) affine { return affine{uint32(2*r + 3), uint32(r*r + i)} })
	if err != nil {
		return err
	}
	bad := pgas.Func(func(dst, src []*int) {})
	if err := says(pgas.AllReduce(&ep.Context, ep.World(), make([]*int, 1), make([]*int, 1), bad), "*int"); err != nil {
		t.Errorf("a reduction of pointers: %v", err)
	}
	return t.Err()
}

func collectiveMove(t *coretest.T) error {
	ep, _, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for root := range w.Size() {
		dst := make([]pair, 50)
		var src []pair
		if w.Rank() == root {
			src = slices.Repeat([]pair{{uint32(root), 7}}, 50)
		}
		if err := pgas.Broadcast(c, w, root, dst, src); err != nil {
			return err
		}
		v, err := pgas.BroadcastValue(c, w, root, node{Key: [3]uint16{uint16(w.Rank())}})
		if err != nil {
			return err
		}
		if dst[49] != (pair{uint32(root), 7}) || v.Key[0] != uint16(root) {
			t.Errorf("from root %d: %v and %v", root, dst[49], v)
		}
	}
	all := make([]pair, 3*w.Size())
	me := uint32(w.Rank())
	if err := pgas.AllGather(c, w, all, []pair{{me, 0}, {me, 1}, {me, 2}}); err != nil {
		return err
	}
	for i, p := range all {
		if p != (pair{uint32(i / 3), uint32(i % 3)}) {
			t.Errorf("AllGather: element %d is %v", i, p)
		}
	}
	n := w.Size()
	one, turned := make([]pair, 1), make([]pair, n)
	mine := make([]pair, n)
	for i := range mine {
		mine[i] = pair{me, uint32(i)}
	}
	if err := pgas.AllToAll(c, w, turned, mine); err != nil {
		return err
	}
	for i, p := range turned {
		if p != (pair{uint32(i), me}) {
			t.Errorf("AllToAll: element %d is %v", i, p)
		}
	}
	if err := pgas.Scatter(c, w, n-1, one, mine); err != nil {
		return err
	}
	if one[0] != (pair{uint32(n - 1), me}) {
		t.Errorf("Scatter: %v", one[0])
	}
	if err := pgas.Gather(c, w, 0, turned, one); err != nil {
		return err
	}
	for i, p := range turned {
		if w.Rank() == 0 && p != (pair{uint32(n - 1), uint32(i)}) {
			t.Errorf("Gather: element %d is %v", i, p)
		}
	}
	for _, err := range []error{
		pgas.Broadcast(c, w, 0, make([]string, 1), nil),
		pgas.AllGather(c, w, make([]any, 1), make([]any, 1)),
	} {
		if err := says(err, "cannot be an element type"); err != nil {
			t.Errorf("%v", err)
		}
	}
	return t.Err()
}
