package grim

import (
	"math/rand/v2"
	"testing"
)

// TestRing compares a ring with memory whose bytes are marked one by one: parts overlap nowhere, and a part is refused only if neither the
// bytes behind the last part nor those at the beginning of the memory are free.
func TestRing(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for size := 1; size < 40; size++ {
		r := ring{size: size}
		taken := make([]bool, size)
		var parts []part
		free := func(at, n int) bool {
			for i := at; i < at+n; i++ {
				if i >= size || taken[i] {
					return false
				}
			}
			return true
		}
		back := 0
		for range 500 {
			if len(parts) > 0 && chance.IntN(2) == 0 {
				for i := range parts[0].size {
					taken[parts[0].at+i] = false
				}
				parts = parts[1:]
				r.give()
				continue
			}
			n := 1 + chance.IntN((size+3)/(1+chance.IntN(4)))
			if len(parts) == 0 {
				back = 0
			}
			at, ok := r.take(n)
			if want := free(back, n) || back > parts0(parts) && free(0, n); ok != want {
				t.Fatalf("size %d: room for %d B: %v, behind %d, with %v", size, n, ok, back, parts)
			}
			if !ok {
				continue
			}
			if !free(at, n) {
				t.Fatalf("size %d: %d B at %d overlap %v", size, n, at, parts)
			}
			for i := range n {
				taken[at+i] = true
			}
			parts = append(parts, part{at, n})
			back = at + n
		}
	}
}

// parts0 returns where the first part begins; beyond everything if there is none.
func parts0(parts []part) int {
	if len(parts) == 0 {
		return 1 << 30
	}
	return parts[0].at
}
