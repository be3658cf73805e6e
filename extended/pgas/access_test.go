package pgas_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

type pair struct{ A, B uint32 }

type node struct {
	Next pgas.Ptr[node]
	Key  [3]uint16
	Big  [20]float64
}

// access puts values to every rank and gets them back, each rank to places of its own.
func access[T comparable](t *coretest.T, ep *extended.Endpoint, h *pgas.Heap, value func(i int) T) error {
	c := &ep.Context
	const n = 8
	p, err := pgas.Alloc[T](c, h, n*t.Size())
	if err != nil {
		return err
	}
	for r := range t.Size() {
		mine := p.On(core.Rank(r)).Add(n * int(t.Rank()))
		for i := range n {
			if err := mine.Add(i).Put(c, value(int(t.Rank())*n+i)); err != nil {
				return err
			}
		}
	}
	if err := ep.World().Barrier(c); err != nil {
		return err
	}
	got := make([]T, n*t.Size())
	for r := range t.Size() {
		if err := p.On(core.Rank(r)).GetSlice(c, got); err != nil {
			return err
		}
		for i := range got {
			v, err := p.On(core.Rank(r)).Add(i).Get(c)
			if err != nil {
				return err
			}
			if want := value(i); v != want || got[i] != want {
				t.Errorf("%T at rank %d: element %d is %v and %v in a slice, want %v", v, r, i, v, got[i], want)
			}
		}
	}
	own, ok := p.LocalSlice(ep, len(got))
	if !ok || own[len(own)-1] != value(len(own)-1) {
		t.Errorf("%T: the own part is not local, or differs", own)
	}
	return ep.World().Barrier(c)
}

func valueSizes(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	for _, f := range []func() error{
		func() error { return access(t, ep, h, func(i int) bool { return i%3 == 0 }) },
		func() error { return access(t, ep, h, func(i int) int8 { return int8(-i) }) },
		func() error { return access(t, ep, h, func(i int) uint16 { return uint16(i) * 1999 }) },
		func() error { return access(t, ep, h, func(i int) [3]byte { return [3]byte{byte(i), 1, byte(-i)} }) },
		func() error { return access(t, ep, h, func(i int) float32 { return float32(i) / 3 }) },
		func() error { return access(t, ep, h, func(i int) float64 { return float64(i) / 3 }) },
		func() error { return access(t, ep, h, func(i int) pair { return pair{uint32(i), uint32(-i)} }) },
		func() error { return access(t, ep, h, func(i int) complex128 { return complex(float64(i), 1) }) },
		func() error {
			return access(t, ep, h, func(i int) node {
				next, _ := pgas.At[node](core.Rank(i), uint64(8*i))
				return node{Next: next, Key: [3]uint16{1, uint16(i)}, Big: [20]float64{19: float64(i)}}
			})
		},
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return t.Err()
}

func valueNonblocking(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	const n = 100
	p, err := pgas.Alloc[uint64](c, h, 2*n)
	if err != nil {
		return err
	}
	q := p.On(next)
	evs := make([]extended.Event, n)
	for i := range n {
		if evs[i], err = q.Add(i).PutNB(c, uint64(i)+7); err != nil {
			return err
		}
		if err := q.Add(n+i).PutNBI(c, uint64(i)+9); err != nil {
			return err
		}
	}
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	if err := c.WaitNBI(extended.All); err != nil {
		return err
	}
	got := make([]uint64, 2*n)
	for i := range n {
		if evs[i], err = q.Add(i).GetNB(c, &got[i]); err != nil {
			return err
		}
		if err := q.Add(n+i).GetNBI(c, &got[n+i]); err != nil {
			return err
		}
	}
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	if err := c.WaitNBI(extended.Gets); err != nil {
		return err
	}
	for i := range n {
		if got[i] != uint64(i)+7 || got[n+i] != uint64(i)+9 {
			t.Errorf("elements %d: %d and %d", i, got[i], got[n+i])
		}
	}
	return ep.World().Barrier(c)
}

// valueWhole has rank 0 write words of equal bytes while rank 1, whose they are, reads them.
func valueWhole(t *coretest.T) error {
	ep, err := extended.Attach(t.Job, core.AttachSpec{Segment: "1MB"})
	if err != nil {
		return err
	}
	c := &ep.Context
	p, err := pgas.At[uint16](1, 64)
	if err != nil {
		return err
	}
	if ep.Local(1) == nil || ep.Local(0) == nil {
		t.Skipf("by messages")
		return ep.Barrier()
	}
	const last = 0x0101
	for i, put := range []func(v uint16) error{
		func(v uint16) error { _, err := p.PutNB(c, v); return err },
		func(v uint16) error { return p.PutNBI(c, v) },
		func(v uint16) error { return p.Put(c, v) },
	} {
		if t.Rank() == 0 {
			for n := range t.Times(2000000) {
				err = errors.Join(err, put(-uint16(n&1)))
			}
			err = errors.Join(err, put(last))
		}
		for v := uint16(0); t.Rank() == 1 && v != last; {
			v1, err1 := p.Get(c)
			_, err2 := p.GetNB(c, &v)
			if err = errors.Join(err, err1, err2); err != nil {
				return err
			}
			for _, v := range []uint16{v, v1} {
				if v>>8 != v&0xff {
					t.Errorf("put %d: %#04x is read", i, v)
					return t.Err()
				}
			}
		}
		if err = errors.Join(err, ep.Barrier()); err != nil {
			return err
		}
		if t.Rank() == 0 {
			err = p.Put(c, 0)
		}
		if err = errors.Join(err, ep.Barrier()); err != nil {
			return err
		}
	}
	return t.Err()
}

func valueRefused(t *coretest.T) error {
	var ep *extended.Endpoint
	ran := 0
	ep, err := extended.Attach(t.Job, core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{{
		Index: core.ClientHandlers, Func: func(*core.Token, []uint32, []byte) {
			var v uint64
			c := &ep.Context
			p, _ := pgas.At[uint64](t.Next(), 64)
			_, err1 := p.Get(c)
			_, err2 := p.PutNB(c, 1)
			_, err3 := p.GetNB(c, &v)
			for i, err := range []error{err1, err2, err3, p.Put(c, 1), p.PutNBI(c, 1), p.GetNBI(c, &v)} {
				if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
					t.Errorf("call %d was accepted: %v", i, err)
				}
			}
			ran++
		}}}})
	if err == nil {
		err = ep.Barrier() // then every handler has its endpoint
	}
	if err == nil {
		err = ep.RequestShort(t.Next(), core.ClientHandlers)
	}
	if err == nil {
		err = t.Wait(ep.Context.Context, func() bool { return ran > 0 })
	}
	return err
}

// valueAllocations counts on rank 0, while the others serve it.
func valueAllocations(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	p, err := pgas.Alloc[uint64](c, h, 16)
	if err != nil {
		return err
	}
	nodes, err := pgas.Alloc[node](c, h, 2)
	if err != nil {
		return err
	}
	array, err := pgas.NewArray[float64](c, h, 1000, 10)
	if err != nil {
		return err
	}
	atomics, err := pgas.NewAtomic[uint64](c, w, extended.FInc|extended.Max)
	if err != nil {
		return err
	}
	check := func(err error) {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	q, qn := p.On(t.Next()), nodes.On(t.Next())
	dst, part := make([]uint64, 16), make([]float64, 500)
	sum := pgas.Add[float64]()
	value := func(_ float64, err error) { check(err) }
	type call struct {
		name string
		once func()
	}
	calls := []call{
		{"Get", func() { _, err := q.Get(c); check(err) }},
		{"Put", func() { check(q.Put(c, 5)) }},
		{"Get of a struct", func() { _, err := qn.Get(c); check(err) }},
		{"Put of a struct", func() { check(qn.Put(c, node{})) }},
		{"PutNB", func() { ev, err := q.PutNB(c, 6); check(err); check(c.Wait(ev)) }},
		{"GetNB", func() { ev, err := q.GetNB(c, &dst[0]); check(err); check(c.Wait(ev)) }},
		{"PutNBI", func() { check(q.PutNBI(c, 6)); check(c.WaitNBI(extended.Puts)) }},
		{"GetNBI", func() { check(q.GetNBI(c, &dst[0])); check(c.WaitNBI(extended.Gets)) }},
		{"GetSlice", func() { check(q.GetSlice(c, dst)) }},
		{"PutSlice", func() { check(q.PutSlice(c, dst)) }},
		{"Atomic.FetchInc", func() { _, err := atomics.FetchInc(c, q); check(err) }},
		{"Atomic.Max", func() { check(atomics.Max(c, q, 9, extended.Relaxed, extended.Release)) }},
		{"Array.Get", func() { _, err := array.Get(c, 555); check(err) }},
		{"Array.Set", func() { check(array.Set(c, 555, 1)) }},
		{"Array.GetRange", func() { check(array.GetRange(c, part, 333)) }},
		{"Array.SetRange", func() { check(array.SetRange(c, part, 333)) }},
	}
	if t.Size() == 1 { // what a member that is ahead sends is kept, which may allocate
		calls = append(calls,
			call{"AllReduceValue", func() { value(pgas.AllReduceValue(c, w, 1.5, sum)) }},
			call{"ReduceValue", func() { value(pgas.ReduceValue(c, w, 0, 1.5, sum)) }},
			call{"ScanValue", func() { value(pgas.ScanValue(c, w, 1.5, sum)) }},
			call{"BroadcastValue", func() { value(pgas.BroadcastValue(c, w, 0, 1.5)) }},
			call{"AllReduceNB", func() { ev, err := pgas.AllReduceNB(c, w, part, part, sum); check(err); check(c.Wait(ev)) }},
			call{"Broadcast", func() { check(pgas.Broadcast(c, w, 0, part, part)) }})
	}
	for _, call := range calls {
		if t.Rank() == 0 {
			call.once() // a first time fills pools
			if n := testing.AllocsPerRun(50, call.once); n > 0 {
				return fmt.Errorf("%s allocates %v times", call.name, n)
			}
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
	}
	return t.Err()
}

func ptrOutside(t *coretest.T) error {
	ep, _, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	var null pgas.Ptr[int64]
	end, err := pgas.At[int64](t.Next(), uint64(ep.SegmentSize(t.Next())))
	if err != nil {
		return err
	}
	far, err := pgas.At[int64](99, 0)
	if err != nil {
		return err
	}
	for _, p := range []pgas.Ptr[int64]{null, null.Add(1), null.On(1), end, end.Add(-1 << 40), end.Add(1 << 60),
		end.Add(1 << 61), end.Add(1 << 62), end.Add(-1 << 61), end.Add(math.MinInt), end.Add(1 << 60).Add(-1 << 60), end.Add(1 << 59).Add(1 << 59), far} {
		_, got := p.Get(c)
		where := fmt.Sprintf("rank %d", p.Rank())
		if p.Nil() {
			where = "a nil pointer"
		}
		for _, err := range []error{got, p.Put(c, 1), p.GetSlice(c, make([]int64, 3)), p.PutSlice(c, make([]int64, 3))} {
			if err := says(err, fmt.Sprintf("rank %d", ep.Rank()), where); err != nil {
				t.Errorf("%v: %v", p, err)
			}
		}
		if _, ok := p.Local(ep); ok {
			t.Errorf("%v is local", p)
		}
	}
	last := end.Add(-1 << 40).Add(1<<40 - 1)
	if err := last.Put(c, 77); err != nil {
		t.Errorf("the last element: %v", err)
	}
	if _, ok := last.LocalSlice(ep, 2); ok {
		t.Errorf("two elements from the last on are local")
	}
	if err := last.PutSlice(c, []int64{1, 2}); err == nil {
		t.Errorf("two elements went to the last place")
	}
	if err := ep.World().Barrier(c); err != nil {
		return err
	}
	if p, ok := last.On(t.Rank()).Local(ep); !ok || *p != 77 {
		t.Errorf("the last element did not come")
	}
	return t.Err()
}
