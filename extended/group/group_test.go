package group

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// random draws a group of ranks below 40, ascending or not.
func random(r *rand.Rand) Group {
	members := make([]core.Rank, 1+r.IntN(39))
	for i, x := range r.Perm(40)[:len(members)] {
		members[i] = core.Rank(x)
	}
	if r.IntN(3) == 0 {
		slices.Sort(members)
		if r.IntN(2) == 0 {
			return Ascending(members)
		}
	}
	return Of(members)
}

// TestRanks: ranks of the job and members are each other's inverse.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		g := random(r)
		for rank := core.Rank(-2); rank < 45; rank++ {
			want := slices.Index(g.Members(), rank)
			if got := g.RankOf(rank); got != want {
				t.Fatalf("rank %d is member %d of %v, want %d", rank, got, g.Members(), want)
			}
			for i := range g.Size() + 1 {
				if g.Is(uint32(i), rank) != (i == want) {
					t.Fatalf("rank %d is member %d of %v: %v", rank, i, g.Members(), i != want)
				}
			}
		}
		for _, i := range []int{-1, math.MinInt, g.Size(), math.MaxInt} {
			if g.At(i) != -1 {
				t.Fatalf("member %d of %v is %d", i, g.Members(), g.At(i))
			}
		}
		if g.Is(math.MaxUint32, g.At(0)) {
			t.Fatal("a member without a number")
		}
	}
}

// TestSplit compares splits with what a naive loop makes of the choices.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	numbers := []int{-1, 0, 1, 2, math.MinInt, math.MaxInt}
	for range 500 {
		g := random(r)
		choices := make([]Choice, g.Size())
		var table []byte
		for i := range choices {
			choices[i] = Choice{numbers[r.IntN(len(numbers))], numbers[r.IntN(len(numbers))], r.Uint32()}
			table = append(table, choices[i].Encode()...)
		}
		if len(table) != ChoiceSize*g.Size() {
			t.Fatalf("choices have %d bytes each", len(table)/g.Size())
		}
		total := 0
		for _, color := range numbers {
			part, serial := g.Split(table, color)
			total += part.Size()
			var want []core.Rank
			first := uint32(0)
			for left := slices.Clone(choices); ; { // the least key that is left, each time
				best := -1
				for i, x := range left {
					if x.Color == color && (best < 0 || x.Key < left[best].Key) {
						best = i
					}
				}
				if best < 0 {
					break
				}
				if len(want) == 0 {
					first = left[best].Serial
				}
				want = append(want, g.At(best))
				left[best].Color = -7
			}
			if !slices.Equal(part.Members(), want) || serial != first {
				t.Fatalf("%v with %v makes %v of colour %d, serial %d; want %v, %d", g.Members(), choices, part.Members(), color, serial, want, first)
			}
		}
		if total != g.Size() {
			t.Fatalf("%d of %d members are in parts", total, g.Size())
		}
	}
}

// TestSubset: the choices of all members for a list make the group that the list names.
func TestSubset(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		g := random(r)
		list := r.Perm(g.Size())[:r.IntN(g.Size()+1)]
		var table []byte
		for self := range g.Size() {
			x, err := g.Subset(list, self)
			if err != nil {
				t.Fatal(err)
			}
			if (x.Color >= 0) != slices.Contains(list, self) {
				t.Fatalf("member %d chooses %+v for %v", self, x, list)
			}
			table = append(table, x.Encode()...)
		}
		if len(list) == 0 {
			continue
		}
		part, _ := g.Split(table, list[0])
		if !g.IsSubset(list, &part) || part.Size() != len(list) || part.At(0) != g.At(list[0]) {
			t.Fatalf("%v of %v is %v", list, g.Members(), part.Members())
		}
		for _, other := range [][]int{list[1:], append(slices.Clone(list), list[0]), append([]int{-1}, list[1:]...)} {
			if g.IsSubset(other, &part) {
				t.Fatalf("%v of %v is %v, and so is %v", list, g.Members(), part.Members(), other)
			}
		}
	}
	g := Of([]core.Rank{5, 3})
	for _, wrong := range [][]int{{0, 0}, {2}, {-1}, {1, math.MaxInt}} {
		if _, err := g.Subset(wrong, 0); err == nil || !strings.Contains(err.Error(), "which is outside a team of 2 or named twice") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
