package pgas_test

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// heapSymmetric makes random calls, equal on all ranks, against a list of what is in use.
func heapSymmetric(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	whole := h.Left()
	live := map[pgas.Ptr[uint32]]int{} // elements
	var order []pgas.Ptr[uint32]
	seed := uint64(1)
	next := func(n int) int { seed = seed*6364136223846793005 + 1442695040888963407; return int(seed>>33) % n }
	var trace uint64
	for range 200 {
		if next(3) > 0 || len(order) == 0 {
			n := next(1000)
			p, err := pgas.Alloc[uint32](c, h, n)
			if err != nil {
				return err
			}
			if p.Offset()%64 != 0 || p.Rank() != ep.Rank() {
				t.Errorf("allocated %v", p)
			}
			for q, m := range live {
				if p.Offset() < q.Offset()+uint64(4*m) && q.Offset() < p.Offset()+uint64(4*n) || p == q {
					t.Errorf("%d elements at %d overlap %d at %d", n, p.Offset(), m, q.Offset())
				}
			}
			live[p] = n
			order = append(order, p)
			trace = trace*31 + p.Offset()
			continue
		}
		i := next(len(order))
		if err := pgas.Free(c, h, order[i]); err != nil {
			return err
		}
		delete(live, order[i])
		order = append(order[:i], order[i+1:]...)
	}
	for _, p := range order {
		if err := pgas.Free(c, h, p); err != nil {
			return err
		}
	}
	if h.Left() != whole {
		t.Errorf("%d bytes left after everything was freed, %d at first", h.Left(), whole)
	}
	root, err := pgas.BroadcastValue(c, ep.World(), 0, trace)
	if err != nil {
		return err
	}
	if root != trace {
		t.Errorf("the offsets differ from rank 0's")
	}
	return t.Err()
}

func heapFull(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	p, err := pgas.Alloc[byte](c, h, 1<<19)
	if err != nil {
		return err
	}
	if _, err := pgas.Alloc[byte](c, h, 1<<18); err != nil {
		return err
	}
	if err := pgas.Free(c, h, p); err != nil {
		return err
	}
	for _, n := range []int{1 << 17, 1 << 62} { // the second overflows in bytes
		_, err := pgas.Alloc[uint64](c, h, n)
		if err := says(err, fmt.Sprintf("rank %d", ep.Rank()), fmt.Sprint(n, " elements of 8 bytes"), fmt.Sprint(3<<18, " left"), fmt.Sprint(1<<19, " in one piece"), "--segment"); err != nil {
			t.Errorf("%v", err)
		}
	}
	if _, err := pgas.Alloc[uint64](c, h, 1<<16); err != nil {
		t.Errorf("what was freed cannot be had again: %v", err)
	}
	return t.Err()
}

func heapMisuse(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	p, err := pgas.Alloc[int](c, h, 10)
	if err != nil {
		return err
	}
	for _, q := range []pgas.Ptr[int]{{}, p.Add(1), p.On(t.Next())} {
		if err := says(pgas.Free(c, h, q), "Free", "not allocated"); err != nil {
			t.Errorf("%v: %v", q, err)
		}
	}
	if err := pgas.Free(c, h, p); err != nil {
		return err
	}
	if err := says(pgas.Free(c, h, p), "freed before"); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := pgas.Alloc[int](c, h, -1); err == nil {
		t.Errorf("-1 elements were allocated")
	}
	if _, err := pgas.Alloc[struct{ A []int }](c, h, 1); says(err, ".A", "[]int") != nil {
		t.Errorf("a type with a slice: %v", err)
	}
	for off, want := range map[uint64]string{1: "multiple of 64", 1 << 40: "--segment"} {
		if _, err := pgas.NewHeapIn(ep.World(), off, 64); says(err, "NewHeapIn", want) != nil {
			t.Errorf("a heap at %d: %v", off, err)
		}
		if _, err := pgas.NewLocalHeap(ep, off, 64); says(err, "NewLocalHeap", want) != nil {
			t.Errorf("a local heap at %d: %v", off, err)
		}
	}
	if _, err := pgas.NewHeap(nil); says(err, "NewHeap:", "not a member") != nil {
		t.Errorf("a heap of no team: %v", err)
	}
	if err := h.Close(); err != nil {
		return err
	}
	if _, err := pgas.Alloc[int](c, h, 1); says(err, "closed") != nil {
		t.Errorf("an allocation from a closed heap: %v", err)
	}
	local, err := pgas.NewLocalHeap(ep, 64, 1000)
	if err != nil {
		return err
	}
	if _, err := pgas.NewArray[int](c, local, 1, 0); err == nil {
		t.Errorf("an array in a local heap")
	}
	if q, err := pgas.Alloc[int](c, local, 2); err != nil || q.Offset() != 64 || q.Rank() != ep.Rank() {
		t.Errorf("a local allocation: %v, %v", q, err)
	}
	return t.Err()
}

// heapOverlap makes heaps where others are.
func heapOverlap(t *coretest.T) error {
	ep, whole, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	team, err := ep.World().Split(c, int(t.Rank()), 0)
	if err != nil {
		return err
	}
	makers := map[string]func() (*pgas.Heap, error){
		"NewHeap":      func() (*pgas.Heap, error) { return pgas.NewHeap(team) },
		"NewHeapIn":    func() (*pgas.Heap, error) { return pgas.NewHeapIn(ep.World(), 4096, 4096) },
		"NewLocalHeap": func() (*pgas.Heap, error) { return pgas.NewLocalHeap(ep, 8192-64, 64) },
	}
	refused := func(other string) {
		for name, make := range makers {
			if _, err := make(); says(err, name+":", "overlap", other, "NewHeapIn") != nil {
				t.Errorf("%s where another heap is: %v", name, err)
			}
		}
	}
	refused(fmt.Sprintf("the heap of world at bytes 0 to %d", ep.SegmentSize(ep.Rank())))
	p, err := pgas.Alloc[int](c, whole, 1)
	if err != nil {
		return err
	}
	if err := says(whole.Close(), "in use"); err != nil {
		t.Errorf("closing a heap in use: %v", err)
	}
	if err := errors.Join(pgas.Free(c, whole, p), whole.Close()); err != nil {
		return err
	}
	if err := says(whole.Close(), "closed before"); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := pgas.NewHeapIn(team, 4096, 4096); err != nil {
		return err
	}
	refused("bytes 4096 to 8192")
	for _, off := range []uint64{0, 8192} {
		if _, err := pgas.NewLocalHeap(ep, off, 4096); err != nil {
			t.Errorf("a heap beside another: %v", err)
		}
	}
	return errors.Join(ep.Barrier(), t.Err())
}

func heapDisagree(t *coretest.T) error {
	ep, h, err := attach(t)
	if err != nil {
		return err
	}
	_, err = pgas.Alloc[int64](&ep.Context, h, 10+int(t.Rank()))
	return err
}
