package shm

import (
	"runtime"
	"sync"
	"testing"
)

// The owner and others count in plain memory: nothing gets lost, and the race detector is
// content.
func TestBiased(t *testing.T) {
	const owned, others, each = 200000, 2, 500
	for _, biased := range []bool{true, false} {
		t.Run(map[bool]string{true: "biased", false: "mutex"}[biased], func(t *testing.T) {
			var l Biased
			if biased {
				if l.Bias(); !l.biased {
					t.Skip("the kernel has no expedited membarrier")
				}
			}
			count := 0
			var wg sync.WaitGroup
			for range others {
				wg.Go(func() {
					for range each {
						l.Lock()
						count++
						l.Unlock()
						runtime.Gosched()
					}
				})
			}
			wg.Go(func() {
				for range owned {
					l.Enter()
					count++
					l.Leave()
				}
			})
			wg.Wait()
			if l.Enter(); count != owned+others*each {
				t.Errorf("counted to %d, want %d", count, owned+others*each)
			}
			l.Leave()
		})
	}
}

func BenchmarkBiased(b *testing.B) {
	b.Run("mutex", func(b *testing.B) {
		var mu sync.Mutex
		n := 0
		for b.Loop() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	b.Run("biased", func(b *testing.B) {
		var l Biased
		l.Bias()
		n := 0
		for b.Loop() {
			l.Enter()
			n++
			l.Leave()
		}
	})
}
