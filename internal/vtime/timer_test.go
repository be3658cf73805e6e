package vtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// alarm is a timer made in the plain way: every setting is an event of its own,
// which does nothing when it is not the latest. It is the oracle.
type alarm struct {
	n      *note
	number uint64
	latest uint64
}

func (x *alarm) reset(at vtime.Time) {
	x.latest++
	x.n.k.At(at, x, x.latest, 0)
}

func (x *alarm) stop() { x.latest++ }

func (x *alarm) Fire(a, _ uint64) {
	if a == x.latest {
		x.latest++
		x.n.Fire(x.number, 0)
	}
}

// TestTimerOracle moves timers about at random, beside plain events at the same
// times, and wants what the oracle does.
func TestTimerOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		plain := timerLog(seed, func(n *note, i uint64) (func(vtime.Time), func()) {
			x := &alarm{n: n, number: i}
			return x.reset, x.stop
		})
		timers := timerLog(seed, func(n *note, i uint64) (func(vtime.Time), func()) {
			x := n.k.NewTimer(n, i, 0)
			return x.Reset, func() { x.Stop() }
		})
		if !slices.Equal(plain, timers) {
			t.Fatalf("seed %d:\n%q\nwant:\n%q", seed, timers, plain)
		}
	}
}

// timerLog returns when timers fire that a random program sets and stops.
func timerLog(seed uint64, timer func(n *note, i uint64) (reset func(vtime.Time), stop func())) []string {
	k := vtime.New(1)
	n := &note{k: k}
	random := rand.New(rand.NewPCG(seed, 0))
	type pair struct {
		reset func(vtime.Time)
		stop  func()
	}
	var timers [4]pair
	for i := range timers {
		timers[i].reset, timers[i].stop = timer(n, uint64(i))
	}
	var step do
	left := 100
	step = func() {
		for range random.IntN(4) {
			switch x := timers[random.IntN(len(timers))]; random.IntN(4) {
			case 0:
				x.stop()
			case 1:
				k.At(k.Now()+vtime.Time(random.IntN(5)), n, 9, uint64(left))
			default:
				x.reset(k.Now() + vtime.Time(random.IntN(12)))
			}
		}
		if left--; left > 0 {
			k.At(k.Now()+vtime.Time(random.IntN(4)), step, 0, 0)
		}
	}
	k.At(0, step, 0, 0)
	if err := k.Run(); err != nil {
		return []string{err.Error()}
	}
	return n.log
}

func TestTimer(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	n := &note{k: k}
	x := k.NewTimer(n, 1, 2)
	if x.Stop() {
		t.Error("Stop of a timer that is not set reports true")
	}
	x.Reset(100)
	if at, ok := x.Set(); !ok || at != 100 {
		t.Errorf("Set = %v, %v", at, ok)
	}
	k.At(10, do(func() {
		mustPanic(t, "timer for *vtime_test.note scheduled at 9ps, but it is already 10ps", func() { x.Reset(9) })
		late := vtime.Time(math.MaxInt64)
		mustPanic(t, "timer for *vtime_test.note after the end of virtual time", func() { x.Reset(k.Now() + late) })
		if !x.Stop() || x.Stop() {
			t.Error("Stop does not report what the timer was")
		}
		x.Reset(20)
	}), 0, 0)
	k.At(30, do(func() {
		x.Reset(40)
		x.Reset(50)
		x.Stop()
	}), 0, 0)
	run(t, k)
	wantLog(t, n.log, "20ps 1 2")
	// What was stopped takes no time and is no event.
	if k.Now() != 30 || k.Events() != 3 {
		t.Errorf("%d events until %v, want 3 until 30ps", k.Events(), k.Now())
	}
}

// TestTimerDeadlock has a proc wait while the only thing left is a stopped timer.
func TestTimerDeadlock(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	x := k.NewTimer(&note{k: k}, 0, 0)
	x.Reset(vtime.Second)
	k.Spawn("waiting", func(p *vtime.Proc) {
		p.Charge(5)
		p.Sync()
		x.Stop()
		p.Park(1)
	})
	want := "vtime: deadlock at 5ps: nothing is left to happen, but procs wait (1):\n  waiting waits for an arrival since 5ps"
	if err := k.Run(); fmt.Sprint(err) != want {
		t.Errorf("Run = %v, want %s", err, want)
	}
}

func TestTimerAllocatesNothing(t *testing.T) {
	k := vtime.New(1)
	x := k.NewTimer(&note{k: k}, 0, 0)
	x.Reset(1)
	k.At(0, do(func() {
		allocs := testing.AllocsPerRun(1000, func() {
			at, _ := x.Set()
			x.Reset(at + 1)
			x.Stop()
			x.Reset(at + 2)
		})
		if allocs != 0 {
			t.Errorf("%v allocations for each Reset", allocs)
		}
	}), 0, 0)
	run(t, k)
}

// BenchmarkTimer is a time-out that is moved away by every event and never comes.
func BenchmarkTimer(b *testing.B) {
	k := vtime.New(1)
	x := k.NewTimer(do(func() {}), 0, 0)
	left := b.N
	var step do
	step = func() {
		x.Reset(k.Now() + 1000)
		if left--; left > 0 {
			k.At(k.Now()+1, step, 0, 0)
		}
	}
	k.At(0, step, 0, 0)
	b.ReportAllocs()
	b.ResetTimer()
	if err := k.Run(); err != nil {
		b.Fatal(err)
	}
}
