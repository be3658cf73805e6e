package pgas_test

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// atomicNames does every named operation, on an element at the next member of a team whose
// order is not the job's. Each rank has elements of its own.
func atomicNames(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	team, err := ep.World().Split(c, 0, -int(t.Rank()))
	if err != nil {
		return err
	}
	a, err := pgas.NewAtomic[int](c, team, extended.TypeOf[int]().Ops())
	if err != nil {
		return err
	}
	array, err := pgas.Alloc[int](c, h, t.Size())
	if err != nil {
		return err
	}
	p := array.On(t.Next()).Add(int(t.Rank()))
	steps := []struct {
		name    string
		do      func() (int, error)
		was, is int
	}{
		{"Set", func() (int, error) { return 0, a.Set(c, p, 12) }, 0, 12},
		{"Swap", func() (int, error) { return a.Swap(c, p, 13) }, 12, 13},
		{"CompareSwap", func() (int, error) { return a.CompareSwap(c, p, 13, -4) }, 13, -4},
		{"Add", func() (int, error) { return 0, a.Add(c, p, 10) }, 0, 6},
		{"FetchAdd", func() (int, error) { return a.FetchAdd(c, p, -1) }, 6, 5},
		{"Sub", func() (int, error) { return 0, a.Sub(c, p, 7) }, 0, -2},
		{"FetchSub", func() (int, error) { return a.FetchSub(c, p, -5) }, -2, 3},
		{"Inc", func() (int, error) { return 0, a.Inc(c, p) }, 0, 4},
		{"FetchInc", func() (int, error) { return a.FetchInc(c, p) }, 4, 5},
		{"Dec", func() (int, error) { return 0, a.Dec(c, p) }, 0, 4},
		{"FetchDec", func() (int, error) { return a.FetchDec(c, p) }, 4, 3},
		{"Max", func() (int, error) { return 0, a.Max(c, p, 30) }, 0, 30},
		{"FetchMax", func() (int, error) { return a.FetchMax(c, p, -7) }, 30, 30},
		{"Min", func() (int, error) { return 0, a.Min(c, p, 15) }, 0, 15},
		{"FetchMin", func() (int, error) { return a.FetchMin(c, p, 20) }, 15, 15},
		{"And", func() (int, error) { return 0, a.And(c, p, 6) }, 0, 6},
		{"FetchAnd", func() (int, error) { return a.FetchAnd(c, p, 12) }, 6, 4},
		{"Or", func() (int, error) { return 0, a.Or(c, p, 9) }, 0, 13},
		{"FetchOr", func() (int, error) { return a.FetchOr(c, p, 2) }, 13, 15},
		{"Xor", func() (int, error) { return 0, a.Xor(c, p, 5) }, 0, 10},
		{"FetchXor", func() (int, error) { return a.FetchXor(c, p, 3) }, 10, 9},
		{"Do", func() (int, error) { return a.Do(c, p, extended.FMult, 3, 0) }, 9, 27},
		{"DoNB", func() (int, error) {
			ev, err := a.DoNB(c, nil, p, extended.Inc, 0, 0)
			return 0, errors.Join(err, c.Wait(ev))
		}, 0, 28},
		{"DoNBI", func() (int, error) {
			return 0, errors.Join(a.DoNBI(c, nil, p, extended.Inc, 0, 0), c.WaitNBI(extended.RMWs))
		}, 0, 29},
	}
	for _, s := range steps {
		was, err := s.do()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if is, err := a.Get(c, p); err != nil || was != s.was || is != s.is {
			t.Errorf("%s: returned %d, want %d; now %d, want %d; %v", s.name, was, s.was, is, s.is, err)
		}
	}
	if err := a.Free(c); err != nil { // a barrier: now everybody may look at its own
		return err
	}
	own, _ := array.LocalSlice(ep, t.Size())
	before := (int(t.Rank()) + t.Size() - 1) % t.Size()
	if own[before] != 29 {
		t.Errorf("rank %d's operations left %v", before, own)
	}
	return errors.Join(ep.Barrier(), t.Err())
}

// atomicRefused has pointers that lead to no member, or nowhere.
func atomicRefused(t *coretest.T) error {
	ep, _, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	alone, err := ep.World().Split(c, int(t.Rank()), 0)
	if err != nil {
		return err
	}
	a, err := pgas.NewAtomic[uint32](c, alone, extended.Add|extended.Get)
	if err != nil {
		return err
	}
	other, err := pgas.At[uint32](t.Next(), 0)
	if err != nil {
		return err
	}
	mine := other.On(t.Rank())
	for _, x := range []struct {
		p    pgas.Ptr[uint32]
		says string
	}{
		{pgas.Ptr[uint32]{}, fmt.Sprintf("a nil pointer, or member -1 of %v", alone)},
		{other, fmt.Sprintf("rank %d is not in %v", t.Next(), alone)},
		{other.On(99), fmt.Sprintf("rank 99 is not in %v", alone)},
		{mine.Add(1 << 62), fmt.Sprintf("outside rank %d's segment", t.Rank())},
		{mine.Add(-1), fmt.Sprintf("outside rank %d's segment", t.Rank())},
	} {
		_, err := a.Get(c, x.p)
		for i, err := range []error{err, a.Add(c, x.p, 1)} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) || says(err, x.says) != nil {
				t.Errorf("call %d on %v: %v; want one that says %q", i, x.p, err, x.says)
			}
		}
	}
	if err := a.Sub(c, mine, 1); says(err, "Sub", "made for") != nil {
		t.Errorf("an operation that the domain has not: %v", err)
	}
	return errors.Join(a.Add(c, mine, 1), ep.Barrier(), t.Err())
}
