package sisci

import (
	"testing"

	"pgregory.net/rapid"
)

// A bitmap searched from the left is the oracle.
func TestExtents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const units = 24
		var used [units]bool
		f := extents{{0, units}}
		var taken []extent
		firstFit := func(n int) int {
			for at := 0; at+n <= units; at++ {
				free := true
				for _, u := range used[at : at+n] {
					free = free && !u
				}
				if free {
					return at
				}
			}
			return -1
		}
		set := func(e extent, v bool) {
			for i := range e.size {
				used[e.off+i] = v
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := rapid.IntRange(1, 9).Draw(t, "size")
				want := firstFit(n)
				off, ok := f.take(n)
				if ok != (want >= 0) || ok && off != want {
					t.Fatalf("take %d: %d, %v; want %d", n, off, ok, want)
				}
				if ok {
					taken = append(taken, extent{off, n})
					set(extent{off, n}, true)
				}
			},
			"give": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("nothing is taken")
				}
				i := rapid.IntRange(0, len(taken)-1).Draw(t, "which")
				f.give(taken[i].off, taken[i].size)
				set(taken[i], false)
				taken = append(taken[:i], taken[i+1:]...)
			},
			"": func(t *rapid.T) {
				largest := 0
				for n := 1; n <= units && firstFit(n) >= 0; n++ {
					largest = n
				}
				if f.largest() != largest {
					t.Fatalf("largest %d, want %d", f.largest(), largest)
				}
				for i, e := range f {
					if e.size <= 0 || i > 0 && f[i-1].off+f[i-1].size >= e.off {
						t.Fatalf("not ascending and apart: %v", f)
					}
				}
			},
		})
	})
}
