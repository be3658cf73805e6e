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

// TestSpace takes and gives back ranges of addresses at random: they lie a page apart, at the first place that has room, and are found by their addresses.
func TestSpace(t *testing.T) {
	const page, limit = 64, 64 * 40
	chance := rand.New(rand.NewPCG(1, 2))
	var s space
	var held []*Region
	for range 5000 {
		if len(held) > 0 && chance.IntN(2) == 0 {
			i := chance.IntN(len(held))
			s.give(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		var used [40]bool // pages that ranges have, or that are beside one
		used[0] = true
		for _, r := range s.taken {
			for i := r.at/page - 1; i < min((r.at+r.size)/page+1, 40); i++ {
				used[i] = true
			}
		}
		size := uint64(1 + chance.IntN(6*page))
		pages := int(size+page-1) / page
		want := -1
		for at := 1; at+pages <= 40 && want < 0; at++ {
			free := true
			for i := range pages {
				free = free && !used[at+i]
			}
			if free {
				want = at * page
			}
		}
		r := new(Region)
		at, ok := s.take(size, page, limit, taken{region: r})
		if ok != (want >= 0) || ok && at != uint64(want) {
			t.Fatalf("%d B at %d, %v; want %d of %v", size, at, ok, want, s.taken)
		}
		if ok {
			held = append(held, r)
			for _, a := range []uint64{at, at + size - 1} {
				if got, ok := s.find(a); !ok || got.region != r {
					t.Fatalf("%d is in %v", a, got)
				}
			}
			if got, ok := s.find(at - 1); ok {
				t.Fatalf("%d is in %v", at-1, got)
			}
		}
	}
}
