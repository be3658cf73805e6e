package pgas_test

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

func arrayLayout(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for _, n := range []int{0, 1, 2, 5, 12, 37} {
		for _, block := range []int{0, 1, 2, 5, 100} {
			a, err := pgas.NewArray[int32](c, h, n, block)
			if err != nil {
				return err
			}
			for i, p := range a.All() {
				if a.Owner(i) != w.Rank() || a.At(i).Rank() != ep.Rank() {
					t.Errorf("%v: element %d is mine, but has owner %d", a, i, a.Owner(i))
				}
				*p = int32(i) + 1
			}
			if err := w.Barrier(c); err != nil {
				return err
			}
			mine := 0
			for i := range n {
				if v, err := a.Get(c, i); err != nil || v != int32(i)+1 {
					t.Errorf("%v: element %d is %d, %v", a, i, v, err)
				}
				if a.Owner(i) == w.Rank() {
					mine++
				}
			}
			if len(a.Own()) != mine {
				t.Errorf("%v: %d elements of my own, want %d", a, len(a.Own()), mine)
			}
			if !a.At(n).Nil() || !a.At(-1).Nil() || a.Set(c, n, 0) == nil {
				t.Errorf("%v has elements outside", a)
			}
			if err := w.Barrier(c); err != nil {
				return err
			}
			if err := a.Free(c); err != nil {
				return err
			}
		}
	}
	return t.Err()
}

func arrayRanges(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	const n = 1000
	for _, block := range []int{0, 1, 7} {
		a, err := pgas.NewArray[uint16](c, h, n, block)
		if err != nil {
			return err
		}
		// Every rank sets its third of each kind of range.
		per := n / t.Size()
		from, to := per*int(t.Rank()), per*(int(t.Rank())+1)
		if t.Rank() == core.Rank(t.Size()-1) {
			to = n
		}
		src := make([]uint16, to-from)
		for i := range src {
			src[i] = uint16(3 * (from + i))
		}
		if err := a.SetRange(c, src, from); err != nil {
			return err
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
		for _, r := range [][2]int{{0, n}, {0, 0}, {n, n}, {1, n - 1}, {333, 340}} {
			got := make([]uint16, r[1]-r[0])
			if err := a.GetRange(c, got, r[0]); err != nil {
				return err
			}
			for i, v := range got {
				if v != uint16(3*(r[0]+i)) {
					t.Errorf("%v: element %d is %d", a, r[0]+i, v)
					break
				}
			}
		}
		for _, i := range []int{-1, n - 1, n + 1} {
			if err := says(a.GetRange(c, make([]uint16, 2), i), "outside"); err != nil {
				t.Errorf("two elements from %d: %v", i, err)
			}
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
	}
	return t.Err()
}

// arrayTeams has arrays of teams whose members are in another order than the job's ranks.
func arrayTeams(t *coretest.T) error {
	ep, whole, err := attach(t)
	if err != nil {
		return err
	}
	if err := whole.Close(); err != nil {
		return err
	}
	c := &ep.Context
	team, err := ep.World().Split(c, int(t.Rank())%2, -int(t.Rank()))
	if err != nil {
		return err
	}
	h, err := pgas.NewHeapIn(team, 128, 4096)
	if err != nil {
		return err
	}
	a, err := pgas.NewArray[uint64](c, h, 10, 2)
	if err != nil {
		return err
	}
	for i := range a.Len() {
		if a.Owner(i) == (team.Rank()+1)%team.Size() { // each member sets the next one's
			if err := a.Set(c, i, uint64(t.Rank())); err != nil {
				return err
			}
		}
	}
	if err := team.Barrier(c); err != nil {
		return err
	}
	for i, p := range a.All() {
		before := team.Jobrank((i/2 + team.Size() - 1) % team.Size())
		if a.At(i).Offset() < 128 || *p != uint64(before) {
			t.Errorf("%v: element %d was set by rank %d, want %d", a, i, *p, before)
		}
	}
	return t.Err()
}

func arrayMisuse(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	a, err := pgas.NewArray[int32](c, h, 7, 2) // rank 0 has 0, 1, 4, 5 and rank 1 has 2, 3, 6
	if err != nil {
		return err
	}
	mine := 4 - int(t.Rank())
	if last := a.Index(mine - 1); last != 5+int(t.Rank()) {
		t.Errorf("the last of my elements is %d", last)
	}
	outside := func(i, k int) {
		if a.Owner(i) != -1 || !a.At(i).Nil() || a.Index(k) != a.Len() {
			t.Errorf("%v: element %d has owner %d, and %v; my element %d is %d", a, i, a.Owner(i), a.At(i), k, a.Index(k))
		}
	}
	outside(-1, -1)
	outside(7, mine)
	if err := errors.Join(ep.Barrier(), a.Free(c)); err != nil {
		return err
	}
	outside(0, 0)
	if own := a.Own(); len(own) > 0 || a.Len() > 0 {
		t.Errorf("a freed array has elements: %v", own)
	}
	for range a.All() {
		t.Errorf("a freed array iterates")
	}
	_, err = a.Get(c, 0)
	for i, err := range []error{err, a.Set(c, 0, 1), a.GetRange(c, make([]int32, 1), 0), a.SetRange(c, make([]int32, 1), 0), a.Free(c)} {
		if err := says(err, "the array was freed"); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	return errors.Join(ep.Barrier(), t.Err())
}
