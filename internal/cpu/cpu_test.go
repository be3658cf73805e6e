package cpu

import (
	"runtime"
	"testing"
)

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

func TestGoroutine(t *testing.T) {
	own := Goroutine()
	if known := runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"; known != (own != 0) {
		t.Fatalf("this goroutine is %d on %s", own, runtime.GOARCH)
	}
	other := make(chan uintptr)
	go func() { other <- Goroutine() }()
	if own != 0 && <-other == own {
		t.Error("two goroutines are the same")
	}
	runtime.Gosched()
	if Goroutine() != own {
		t.Error("a goroutine does not stay the same")
	}
}

// The counter runs where there is one.
func TestCycles(t *testing.T) {
	if !HasCycles() {
		t.Skip("no counter of one rate")
	}
	for first := Cycles(); Cycles() == first; {
	}
}

func BenchmarkCycles(b *testing.B) {
	for b.Loop() {
		Cycles()
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
