package vtime

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func compare(x, y entry) int {
	return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.key, y.key))
}

func TestBefore(t *testing.T) {
	times := []Time{0, 1, 2, 1<<63 - 1}
	keys := []uint64{0, 1, wakeup - 1, wakeup, wakeup + 1, 1<<64 - 1}
	for _, at := range times {
		for _, key := range keys {
			x := entry{at: at, key: key}
			for _, at := range times {
				for _, key := range keys {
					y := entry{at: at, key: key}
					if got, want := x.before(&y) != 0, compare(x, y) < 0; got != want {
						t.Errorf("%v before %v: %v, want %v", x, y, got, want)
					}
				}
			}
		}
	}
}

// TestQueueOrder compares the queue with a sorted slice while entries of few
// different times are pushed and popped at random.
func TestQueueOrder(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var q queue
		var oracle []entry
		pop := func() {
			if got := q.pop(); got != oracle[0] {
				t.Fatalf("seed %d, %d entries: pop = %v, want %v", seed, len(oracle), got, oracle[0])
			}
			oracle = oracle[1:]
		}
		for i := range uint32(500) {
			if len(oracle) > 0 && random.IntN(5) < 2 {
				pop()
				continue
			}
			key := uint64(i) | uint64(random.IntN(2))<<63
			e := entry{at: Time(random.IntN(20)), key: key, slot: i}
			q.push(e)
			at, _ := slices.BinarySearchFunc(oracle, e, compare)
			oracle = slices.Insert(oracle, at, e)
		}
		for len(oracle) > 0 {
			pop()
		}
		if len(q) != 0 {
			t.Fatalf("seed %d: %d entries left over", seed, len(q))
		}
	}
}
