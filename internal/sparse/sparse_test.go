package sparse

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTableIsAMap compares tables of all kinds with a map.
func TestTableIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, dense, dense + 1, 1 << 16, 1 << 40} {
		var x Table[int]
		x.Init(n)
		want := make(map[int]*int)
		for range 5000 {
			i := rng.IntN(n + 1)
			if rng.IntN(2) == 0 {
				i = min(n, rng.IntN(40))
			}
			if i == n {
				continue // n is none
			}
			found := x.Find(i)
			if n > dense && found != want[i] {
				t.Fatalf("n=%d: Find(%d) is %p, want %p", n, i, found, want[i])
			}
			p := x.At(i)
			if old := want[i]; old != nil && old != p {
				t.Fatalf("n=%d: element %d has moved", n, i)
			}
			if want[i] == nil && *p != 0 {
				t.Fatalf("n=%d: element %d is %d at first", n, i, *p)
			}
			want[i] = p
			*p += i + 1
			if *p%(i+1) != 0 {
				t.Fatalf("n=%d: element %d is another's, too", n, i)
			}
		}
	}
}

func TestZeroTable(t *testing.T) {
	var x Table[byte]
	if x.Find(3) != nil {
		t.Error("an element that nobody asked for")
	}
	three := x.At(3)
	if x.At(3) != three || x.Find(3) != three || x.At(2) == three {
		t.Error("elements are not kept apart")
	}
}

// TestGoroutines has goroutines ask for the same elements at once.
func TestGoroutines(t *testing.T) {
	const workers, keys = 4, 3000
	for _, n := range []int{100, keys} {
		var x Table[atomic.Int64]
		x.Init(n)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for _, i := range rand.New(rand.NewPCG(uint64(w), 0)).Perm(n) {
					x.At(i).Add(int64(i + 1))
				}
			})
		}
		wg.Wait()
		for i := range n {
			if v := x.Find(i).Load(); v != int64(workers*(i+1)) {
				t.Fatalf("element %d is %d, want %d", i, v, workers*(i+1))
			}
		}
	}
}

// TestMemory bounds what a table takes of which little is used.
func TestMemory(t *testing.T) {
	made := testing.AllocsPerRun(10, func() {
		var x Table[uint64]
		x.Init(1 << 30)
		for i := range 16 {
			*x.At(1 << i)++
		}
	})
	if made > 16+2*4 { // the elements, and hashes of 8, 16 and 32 places
		t.Errorf("%v allocations for 16 elements", made)
	}
}

func BenchmarkAt(b *testing.B) {
	for name, n := range map[string]int{"array": dense, "hash": dense + 1} {
		b.Run(name, func(b *testing.B) {
			var x Table[uint64]
			x.Init(n)
			for i := 0; b.Loop(); i++ {
				*x.At(i & 15 * 64)++
			}
		})
	}
}
