package cpu

import "testing"

func TestWaitingReturns(t *testing.T) {
	for range 100 {
		Pause()
		Yield()
		Prefetch(nil) // any address
		PrefetchW(nil)
	}
	if n := testing.AllocsPerRun(100, func() { Pause(); Yield() }); n != 0 {
		t.Errorf("Pause and Yield allocate %v times", n)
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause()
	}
}

func BenchmarkYield(b *testing.B) {
	for b.Loop() {
		Yield()
	}
}
