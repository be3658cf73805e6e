package fifo_test

import (
	"math/rand/v2"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// TestQueue compares the ring with a slice, in phases of growing and of shrinking.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q fifo.Queue[int]
	var want []int
	for i := range 10_000 {
		if r.IntN(100) < 48+i/500%5 {
			q.Push(i)
			want = append(want, i)
		} else if v, ok := q.Pop(); ok != (len(want) > 0) || ok && v != want[0] {
			t.Fatalf("step %d: popped %d, %v", i, v, ok)
		} else if ok {
			want = want[1:]
		}
		if q.Len() != len(want) {
			t.Fatalf("step %d: %d elements, not %d", i, q.Len(), len(want))
		}
		for j := range want {
			if *q.At(j) != want[j] {
				t.Fatalf("step %d: element %d is %d, not %d", i, j, *q.At(j), want[j])
			}
		}
	}
}

// TestQueueForgets wants what has left to be kept alive by nothing, what is added to be zero, and
// nothing to be allocated for what there was room for once.
func TestQueueForgets(t *testing.T) {
	var q fifo.Queue[*int]
	for range 7 {
		q.Push(new(int))
	}
	for range 7 {
		q.Drop()
	}
	for range 8 {
		if p := q.Add(); *p != nil {
			t.Fatal("an element that has left is still in the ring")
		}
	}
	x := new(int)
	if n := testing.AllocsPerRun(100, func() { q.Drop(); q.Push(x) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
