package exttest

import (
	"errors"
	"reflect"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

var orderCases = []coretest.Case{{
	Name:  "order/publish",
	Rule:  "who acquires what was released finds what was stored, and put and synchronised, before the release",
	Ranks: []int{2, 3}, Body: orderPublish,
}, {
	Name:  "order/both",
	Rule:  "operations in place with both orders are sequentially consistent: of two ranks that set a word each and then get the other's, one sees the other's new value",
	Ranks: []int{2}, Needs: coretest.Live, Body: orderBoth,
}, {
	Name:  "order/refused",
	Rule:  "every atomic call takes an order, and refuses one that there is not",
	Ranks: []int{2}, Config: lenient, Body: orderRefused,
}}

// orders are the arguments of a call that say what it orders.
var orders = [][]extended.Order{
	nil, {extended.Relaxed}, {extended.Acquire}, {extended.Release}, {extended.Acquire | extended.Release},
	{extended.Relaxed, extended.Release}, {extended.Acquire, extended.Release},
}

// orderPublish has rank 0 store a number in its own segment, put it to the next rank's, and
// release it at the last; the others acquire it there, look, and release that they have.
func orderPublish(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	a, err := extended.NewAtomic[uint64](c, w, extended.Uint64.Ops())
	if err != nil {
		return err
	}
	const stored, put, flag, seen = 0, 8, 64, 128 // offsets
	last, others := w.Size()-1, uint64(w.Size()-1)
	await := func(off, want uint64, acquire func() (uint64, error)) error {
		for {
			if got, err := acquire(); err != nil || got >= want {
				return err
			}
			if err := yield(t, ep); err != nil {
				return err
			}
		}
	}
	release := []func(i uint64) error{
		func(i uint64) error { return a.Set(c, last, flag, i, extended.Release) },
		func(uint64) error { return a.Inc(c, last, flag, extended.Release) },
		func(i uint64) error { _, err := a.Swap(c, last, flag, i, extended.Release); return err },
		func(i uint64) error { return a.Max(c, last, flag, i, extended.Release) },
		func(i uint64) error {
			ev, err := a.DoNB(c, nil, last, flag, extended.Set, i, 0, extended.Release)
			return wait(c, ev, err)
		},
	}
	for i := uint64(1); i <= uint64(t.Times(20)); i++ {
		if w.Rank() == 0 {
			copy(ep.Segment()[stored:], put64(i))
			if err := waitNBI(c, c.PutNBI(t.Next(), put, put64(i), extended.LCNow)); err != nil {
				return err
			}
			if err := release[i%5](i); err != nil {
				return err
			}
			err = await(seen, others*i, func() (uint64, error) { return a.Get(c, 0, seen, extended.Acquire) })
		} else {
			err = await(flag, i, func() (got uint64, err error) {
				if i%2 == 0 {
					return a.Get(c, last, flag, extended.Acquire)
				}
				ev, err := a.DoNB(c, &got, last, flag, extended.FAdd, 0, 0, extended.Acquire)
				return got, wait(c, ev, err)
			})
			for r, off := range []uint64{stored, put} {
				var b [8]byte
				if err = errors.Join(err, c.Get(b[:], core.Rank(r), off)); get64(b[:]) != i {
					t.Errorf("%d was acquired, and %d is at %d of rank %d", i, get64(b[:]), off, r)
				}
			}
			err = errors.Join(err, a.Inc(c, 0, seen, extended.Release))
		}
		if err != nil {
			return err
		}
	}
	return errorsOf(t, a.Free(c))
}

// orderBoth is the pattern of store buffers: each rank sets its word to i and gets the
// other's. They wait for each other before i+1, so that they do that at the same time.
func orderBoth(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	a, err := extended.NewAtomic[uint64](c, w, extended.Set|extended.Get)
	if err != nil {
		return err
	}
	if !a.InPlace() || runtime.NumCPU() < w.Size() {
		return a.Free(c) // nothing runs at the same time
	}
	me, other := w.Rank(), 1-w.Rank()
	n := t.Times(3000)
	got, its := make([]byte, 0, 8*n), make([]byte, 16*n)
	for i := uint64(1); i <= uint64(n); i++ {
		err := a.Set(c, me, 0, i)
		x, err2 := a.Get(c, other, 0)
		got = append(got, put64(x)...)
		for spins := 0; err == nil && err2 == nil && x < i; spins++ {
			if x, err2 = a.Get(c, other, 0); spins > 10000 {
				runtime.Gosched()
			}
		}
		if err := errors.Join(err, err2); err != nil {
			return err
		}
	}
	if err := w.AllGather(c, its, got); err != nil {
		return err
	}
	for i := range n {
		if x, y := get64(its[8*i:]), get64(its[8*(n+i):]); x <= uint64(i) && y <= uint64(i) {
			t.Errorf("both have set %d, and got %d and %d", i+1, x, y)
			break
		}
	}
	return errorsOf(t, a.Free(c))
}

// orderRefused calls every method that takes orders with one that there is not.
func orderRefused(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	raw, err := extended.NewAtomic[uint32](c, ep.World(), extended.Uint32.Ops())
	if err != nil {
		return err
	}
	typed, err := pgas.NewAtomic[uint32](c, ep.World(), extended.Uint32.Ops())
	if err != nil {
		return err
	}
	p, err := pgas.At[uint32](t.Next(), 64)
	if err != nil {
		return err
	}
	of := map[reflect.Type]reflect.Value{}
	for _, v := range []any{c, 0, uint64(64), uint32(1), extended.Add, new(uint32), p, make([]byte, 4), []extended.Order{1 << 2}} {
		of[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	for _, x := range []any{&raw.Domain, raw, typed} {
		called, v := 0, reflect.ValueOf(x)
		for m := range v.Type().Methods() {
			if !m.Type.IsVariadic() {
				continue
			}
			called++
			args := []reflect.Value{v}
			for i := 1; i < m.Type.NumIn(); i++ {
				args = append(args, of[m.Type.In(i)])
			}
			results := m.Func.CallSlice(args)
			err, _ := results[len(results)-1].Interface().(error)
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("%v.%s with %v: %v", v.Type(), m.Name, extended.Order(1<<2), err)
			}
		}
		if called < 3 {
			t.Errorf("%v has %d calls that take orders", v.Type(), called)
		}
	}
	return errorsOf(t, ep.Barrier())
}
