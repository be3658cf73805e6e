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

// TestQueueOrder compares the queue with a sorted slice while entries are pushed and popped at
// random: of few different times, of times that lie further and further apart, and of times
// after what was popped last, as a kernel's are. Phases of growing and of shrinking alternate.
func TestQueueOrder(t *testing.T) {
	times := map[string]func(random *rand.Rand, now Time) Time{
		"few":    func(random *rand.Rand, _ Time) Time { return Time(random.IntN(20)) },
		"any":    func(random *rand.Rand, _ Time) Time { return Time(random.Int64() >> random.IntN(63)) },
		"kernel": func(random *rand.Rand, now Time) Time { return now + Time(random.Int64()>>(20+random.IntN(43))) },
		"equal":  func(_ *rand.Rand, now Time) Time { return now },
	}
	for name, at := range times {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(30) {
				checkOrder(t, rand.New(rand.NewPCG(seed, 0)), at)
			}
		})
	}
}

func checkOrder(t *testing.T, random *rand.Rand, at func(*rand.Rand, Time) Time) {
	var q entryQueue
	var oracle []entry
	var now Time
	pop := func() {
		if first, _ := q.first(); *first != oracle[0] {
			t.Fatalf("%d entries: first = %v, want %v", len(oracle), *first, oracle[0])
		}
		if got := q.pop(); got != oracle[0] {
			t.Fatalf("%d entries: pop = %v, want %v", len(oracle), got, oracle[0])
		}
		now, oracle = oracle[0].at, oracle[1:]
	}
	for i := range uint32(1500) {
		growing := i/250%2 == 0
		if len(oracle) > 0 && random.IntN(5) < 2 == growing {
			pop()
			continue
		}
		e := entry{at: at(random, now), key: uint64(i) | uint64(random.IntN(2))<<63, slot: i}
		q.push(e)
		place, _ := slices.BinarySearchFunc(oracle, e, compare)
		oracle = slices.Insert(oracle, place, e)
		if q.n != len(oracle) {
			t.Fatalf("%d entries, want %d", q.n, len(oracle))
		}
	}
	for len(oracle) > 0 {
		pop()
	}
	if q.n != 0 {
		t.Fatalf("%d entries left over", q.n)
	}
}

// TestQueue pushes values at few different times, and wants them back by time, and then in the order
// in which they were pushed.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type value struct {
		at     Time
		number int
	}
	var q Queue[*value]
	var all []*value
	for i := range 1000 {
		all = append(all, &value{Time(random.IntN(30)), i})
		q.Push(all[i].at, all[i])
	}
	slices.SortStableFunc(all, func(x, y *value) int { return cmp.Compare(x.at, y.at) })
	for i, want := range all {
		if at, v := q.First(); *v != want || at != want.at || q.Len() != len(all)-i {
			t.Fatalf("first of %d: %v at %v, want %v", q.Len(), **v, at, *want)
		}
		if at, v := q.Pop(); v != want || at != want.at {
			t.Fatalf("pop: %v at %v, want %v", *v, at, *want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { q.Push(5, nil); q.Pop() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for _, v := range q.values {
		if v != nil {
			t.Error("an empty queue keeps a value alive")
		}
	}
}
