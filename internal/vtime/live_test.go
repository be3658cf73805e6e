package vtime_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestLiveNext asks when something is due.
func TestLiveNext(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	if _, ok := v.Next(); ok {
		t.Error("something is due in an empty loop")
	}
	v.At(3600*vtime.Second, do(func() {}), 0, 0)
	if wait, ok := v.Next(); !ok || wait > time.Hour || wait < 50*time.Minute {
		t.Errorf("an event in an hour is due in %v, %v", wait, ok)
	}
	fired := false
	v.Do(func() { v.At(0, do(func() { fired = true }), 0, 0) }) // the time has passed
	if wait, ok := v.Next(); !ok || wait != 0 {
		t.Errorf("an event that is late is due in %v, %v", wait, ok)
	}
	if n := v.Poll(); n != 1 || !fired {
		t.Errorf("a poll fired %d events, want the one that is late", n)
	}
}

// TestLiveWakes has an event come up before the one for which the goroutine sleeps.
func TestLiveWakes(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	over := make(chan struct{})
	go func() { v.Run(ctx); close(over) }()
	fired := make(chan struct{})
	for range 100 {
		v.Do(func() {
			v.At(v.Now()+3600*vtime.Second, do(func() {}), 0, 0)
			v.At(v.Now()+10*vtime.Microsecond, do(func() { fired <- struct{}{} }), 0, 0)
		})
		select {
		case <-fired:
		case <-ctx.Done():
			t.Fatal("the goroutine sleeps past an event")
		}
	}
	cancel()
	<-over
}

// TestLiveMissed lets the clock pass many periods of a timer: it fires once for all.
func TestLiveMissed(t *testing.T) {
	t.Parallel()
	const period = 50 * vtime.Microsecond
	v := vtime.NewLive(1)
	var ticks *vtime.Timer
	fired := 0
	ticks = v.NewTimer(do(func() { fired++; ticks.Reset(v.Now() + period) }), 0, 0)
	ticks.Reset(0)
	for range 3 {
		for began := time.Now(); time.Since(began) < 10*period.Duration(); { // the host is busy
		}
		before := fired
		if v.Poll(); fired != before+1 {
			t.Errorf("a timer fired %d times after its host had missed ten periods", fired-before)
		}
	}
}

// TestLiveOutside has somebody call the loop who is not in it.
func TestLiveOutside(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	v.Poll()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Live.Do") {
			t.Errorf("panic %q", text)
		}
	}()
	v.At(0, do(func() {}), 0, 0)
}

// TestLivePanic wants the loop to be usable after an event has panicked.
func TestLivePanic(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	v.At(0, do(func() { panic("event") }), 0, 0)
	func() {
		defer func() {
			if recover() != "event" {
				t.Error("the panic got lost")
			}
		}()
		v.Poll()
	}()
	v.Do(func() { v.At(0, do(func() {}), 0, 0) })
	if n := v.Poll(); n != 1 {
		t.Errorf("a poll after a panic fired %d events", n)
	}
}

// TestLiveTraceError wants the loop to end when its trace cannot be written.
func TestLiveTraceError(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	v.Trace(&full{10})
	v.At(0, do(func() {}), 0, 0)
	v.Poll()
	for range 2 {
		if err := v.Close(); !errors.Is(err, errFull) {
			t.Errorf("Close = %v, want the writer's error", err)
		}
	}
	v.Do(func() { v.At(0, do(func() { t.Error("an event fired after Close") }), 0, 0) })
	v.Poll()
}

// TestLiveAllocations wants polls to allocate nothing.
func TestLiveAllocations(t *testing.T) {
	v := vtime.NewLive(1)
	nothing := vtime.Target(do(func() {}))
	schedule := func() { v.At(0, nothing, 0, 0) }
	n := testing.AllocsPerRun(100, func() {
		v.Do(schedule)
		v.Poll()
	})
	if n > 0 {
		t.Errorf("%v allocations for an event", n)
	}
	turn := func() { schedule(); v.Fire() }
	if n := testing.AllocsPerRun(100, func() { v.TryDo(turn) }); n > 0 {
		t.Errorf("%v allocations for an event that fires in a turn", n)
	}
}

// TestLiveTryDo has somebody who is in the loop fire what is due, without a poll, and another find the loop taken: that one does nothing, and does not wait.
func TestLiveTryDo(t *testing.T) {
	t.Parallel()
	v := vtime.NewLive(1)
	var fired []int
	due := func(i int) { v.At(0, do(func() { fired = append(fired, i) }), 0, 0) }
	other := make(chan bool)
	if !v.TryDo(func() {
		go func() { other <- v.TryDo(func() { t.Error("two are in the loop") }) || v.Poll() > 0 }()
		if <-other {
			t.Error("who finds the loop taken has done something in it")
		}
		due(1)
		due(2)
		v.At(v.Now()+3600*vtime.Second, do(func() { t.Error("an event of the next hour fired") }), 0, 0)
		if n := v.Fire(); n != 2 || !slices.Equal(fired, []int{1, 2}) {
			t.Errorf("%d events fired, %v", n, fired)
		}
		if n := v.Fire(); n != 0 {
			t.Errorf("%d events fired twice", n)
		}
	}) {
		t.Error("nobody is in the loop, and TryDo does nothing")
	}
	func() {
		defer func() {
			if recover() != "mine" {
				t.Error("the panic got lost")
			}
		}()
		v.TryDo(func() { panic("mine") })
	}()
	if !v.TryDo(func() { due(3); v.Fire() }) || len(fired) != 3 {
		t.Error("the loop is not to be entered after a panic")
	}
}

// TestLiveCrowd has goroutines enter the loop as they can: each event fires once, in the order of time, and in no two at once.
func TestLiveCrowd(t *testing.T) {
	t.Parallel()
	const width, each = 4, 2000
	v := vtime.NewLive(1)
	fired, taken := 0, 0
	event := vtime.Target(do(func() { fired++ }))
	var last vtime.Time
	var all sync.WaitGroup
	for range width {
		all.Go(func() {
			for done := 0; done < each; {
				if v.TryDo(func() {
					if v.Now() < last {
						t.Error("the clock goes back")
					}
					last = v.Now()
					taken++
					v.At(v.Now(), event, 0, 0)
					v.Fire()
				}) {
					done++
				}
			}
		})
	}
	all.Wait()
	if v.Poll(); fired != width*each || taken != fired {
		t.Errorf("%d of %d events fired, of %d", fired, width*each, taken)
	}
}
