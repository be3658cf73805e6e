package udp

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// Until its rate is known, and where there are no cycles, the clock is the system's.
func TestClockBegins(t *testing.T) {
	var k clock
	for k.start(); k.span == 0; {
		before := time.Since(k.began)
		now := k.now()
		if after := time.Since(k.began); now < before || now > after {
			t.Fatalf("%v, want %v to %v", now, before, after)
		}
		if k.span == 0 && now > 2*rateAfter {
			if cpu.HasCycles() {
				t.Fatal("no rate is known")
			}
			return
		}
	}
	if k.rate == 0 || k.rate > slowest<<32 {
		t.Errorf("%d/2^32 ns in a cycle", k.rate)
	}
}

// needCycles skips a test where none are counted.
func needCycles(t *testing.T) {
	if !cpu.HasCycles() {
		t.Skip("no counter of one rate")
	}
}

// Within a span cycles are counted, from the last reading on.
func TestClockCounts(t *testing.T) {
	needCycles(t)
	const read = time.Hour
	k := clock{began: time.Now(), read: read, at: cpu.Cycles(), span: 1 << 62, rate: 1 << 31}
	before := (cpu.Cycles() - k.at) / 2
	now := k.now()
	after := (cpu.Cycles() - k.at) / 2
	if d := uint64(now - read); d < before || d > after {
		t.Errorf("%d ns in %d to %d cycles of half a ns", d, 2*before, 2*after)
	}
}

// Beyond a span, and if the counter went back because it is another processor's, the system's
// clock is read.
func TestClockReads(t *testing.T) {
	needCycles(t)
	for _, ahead := range []int64{-clockSpan, 1 << 40} {
		k := clock{began: time.Now(), read: time.Hour, at: cpu.Cycles() + uint64(ahead), span: clockSpan, rate: 1 << 32}
		if now := k.now(); now >= time.Hour {
			t.Errorf("counter at %+d: %v", ahead, now)
		}
	}
}

// A rate that no counter has is not believed.
func TestClockDistrusts(t *testing.T) {
	needCycles(t)
	k := clock{began: time.Now().Add(-time.Hour), origin: cpu.Cycles(), span: clockSpan}
	k.consult()
	if k.span != 0 {
		t.Errorf("an hour passed in %d cycles, and the rate %d is believed", k.at-k.origin, k.rate)
	}
}
