package vtime_test

import (
	"context"
	"errors"
	"strings"
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
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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
}
