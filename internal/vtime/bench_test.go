package vtime_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// holder keeps the queue at its size: each event schedules another one.
type holder struct {
	k     *vtime.Kernel
	left  int
	delay [1024]vtime.Time
}

func (h *holder) Fire(a, b uint64) {
	if h.left > 0 {
		h.left--
		h.k.At(h.k.Now()+h.delay[h.left%len(h.delay)], h, a, b)
	}
}

// BenchmarkHold is the hold operation: take the first of n events and schedule
// another at a random distance.
func BenchmarkHold(b *testing.B) {
	for _, n := range []int{1, 64, 1024, 65536} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			k := vtime.New(1)
			h := &holder{k: k, left: b.N}
			random := k.Rand("delay")
			for i := range h.delay {
				h.delay[i] = vtime.Time(random.ExpFloat64() * 1e6)
			}
			for i := range n {
				k.At(vtime.Time(random.ExpFloat64()*1e6), h, uint64(i), 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := k.Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkSwitch is the coroutine ping-pong: n procs take turns, each turn one
// wake-up through the queue. One operation is one turn.
func BenchmarkSwitch(b *testing.B) {
	for _, n := range []int{2, 64, 1024} {
		b.Run(fmt.Sprintf("procs=%d", n), func(b *testing.B) {
			k := vtime.New(1)
			for range n {
				k.Spawn("turn", func(p *vtime.Proc) {
					for range b.N / n {
						p.Charge(vtime.Nanosecond)
						p.Sync()
					}
				})
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := k.Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPingPong is a message there and back in pairs of procs: an event
// that arrives and a Park, each way. One operation is one message.
func BenchmarkPingPong(b *testing.B) {
	for _, n := range []int{2, 64, 1024} {
		b.Run(fmt.Sprintf("procs=%d", n), func(b *testing.B) {
			k := vtime.New(1)
			boxes := make([]box, n)
			for i := range n {
				mine, peers := &boxes[i], &boxes[i^1]
				mine.proc = k.Spawn("player", func(p *vtime.Proc) {
					for round := range uint64(b.N / n) {
						if i%2 == 0 {
							k.At(p.Now()+vtime.Microsecond, peers, 1, 0)
						}
						mine.await(p, round+1, 10*vtime.Nanosecond)
						if i%2 == 1 {
							k.At(p.Now()+vtime.Microsecond, peers, 1, 0)
						}
					}
				})
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := k.Run(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(k.Events())/float64(b.Elapsed().Seconds())/1e6, "Mevents/s")
		})
	}
}

// BenchmarkSyncIdle is a Sync with nothing due.
func BenchmarkSyncIdle(b *testing.B) {
	k := vtime.New(1)
	k.Spawn("alone", func(p *vtime.Proc) {
		for range b.N {
			p.Charge(vtime.Nanosecond)
			p.Sync()
		}
	})
	if err := k.Run(); err != nil {
		b.Fatal(err)
	}
}
