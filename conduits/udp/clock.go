package udp

import (
	"time"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// clock tells how long ago it began. Between readings of the system's clock, which take three
// times as long, it counts cycles. start makes it ready.
//
// Should the counters of processors differ, it is out by clockSpan times slowest at most, a
// millisecond. Callers put up with that, and with its going back by as much.
type clock struct {
	began  time.Time
	origin uint64        // the counter then
	read   time.Duration // the last reading
	at     uint64        // the counter then
	span   uint64        // cycles after which it is to be read anew; 0: at once
	rate   uint64        // nanoseconds in 2^32 cycles
}

const (
	// clockSpan is some 100 microseconds.
	clockSpan = 1 << 18
	// rateAfter is for how long cycles are counted at least before their rate is believed. It gets
	// better with every reading, as errors at the two ends of a longer time count for less.
	rateAfter = 10 * time.Millisecond
	// slowest is how many nanoseconds a cycle may take. More is no rate: the processors' counters
	// differ then.
	slowest = 4
)

// start begins at 0.
func (k *clock) start() { *k = clock{began: time.Now(), origin: cpu.Cycles()} }

// now returns the time since start.
func (k *clock) now() time.Duration {
	if d := cpu.Cycles() - k.at; d < k.span {
		return k.read + time.Duration(d*k.rate>>32)
	}
	return k.consult()
}

// consult reads the system's clock, then the counter: if the processor is taken away in between,
// the clock is late for a span, as it would be had that happened a moment later, but not ahead.
func (k *clock) consult() time.Duration {
	k.read, k.at = time.Since(k.began), cpu.Cycles()
	if k.read < rateAfter || !cpu.HasCycles() {
		return k.read
	}
	k.span = 0
	if r := float64(k.read) / float64(k.at-k.origin); r <= slowest {
		k.span, k.rate = clockSpan, uint64(r*(1<<32))
	}
	return k.read
}
