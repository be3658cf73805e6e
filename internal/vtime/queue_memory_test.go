package vtime

import (
	"math/rand/v2"
	"testing"
)

// TestQueueKeepsItsMemory takes the first of many entries and adds one, over and over: what the
// buckets need goes round.
func TestQueueKeepsItsMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q Queue[int]
	for range 1 << 15 {
		q.Push(Time(random.ExpFloat64()*1e6), 0)
	}
	hold := func() {
		for range 1 << 14 {
			at, _ := q.Pop()
			q.Push(at+Time(random.ExpFloat64()*1e6), 0)
		}
	}
	for range 20 {
		hold()
	}
	if n := testing.AllocsPerRun(5, hold); n > 10 {
		t.Errorf("%v allocations for %d entries that go round", n, 1<<14)
	}
}
