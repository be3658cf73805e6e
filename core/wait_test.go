package core

import (
	"strings"
	"testing"
	"time"
)

func TestPanicking(t *testing.T) {
	if panicking() {
		t.Error("panicking outside a panic")
	}
	func() {
		defer func() { recover() }()
		defer func() {
			if !panicking() {
				t.Error("not panicking in a deferred call of a panic")
			}
			func() {
				if !panicking() {
					t.Error("not panicking further down")
				}
			}()
		}()
		panic("x")
	}()
	func() {
		defer func() {
			if panicking() {
				t.Error("panicking in a deferred call after a normal return")
			}
		}()
	}()
	if panicking() {
		t.Error("panicking after a recovered panic")
	}
}

// TestSleepTime: a rank that sleeps unwoken comes back sooner than another one falls asleep, unless it has
// been idle for long, and never later than is promised.
func TestSleepTime(t *testing.T) {
	last := time.Duration(0)
	for idle := time.Duration(0); idle < time.Second; idle += 37 * time.Microsecond {
		n := sleepTime(idle)
		if n <= 0 || n > silentSleep || n < last || n > silentSleep/32 && n > idle/32 {
			t.Fatalf("idle for %v it sleeps %v, after %v", idle, n, last)
		}
		last = n
	}
	if last != silentSleep {
		t.Errorf("idle for a second it sleeps %v, want %v", last, silentSleep)
	}
}

// TestLadder climbs: pauses, then yields, then sleep; a message starts it anew.
func TestLadder(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		err := alone(t, Config{Sleep: time.Nanosecond, Threads: threads}, nil, func(ep *Endpoint) error {
			l := ladder{ep: ep}
			for round := range 2 {
				for i := range pausePolls {
					if l.step() {
						t.Errorf("%v: sleep after %d idle turns of round %d", threads, i+1, round)
					}
				}
				for !l.step() {
				}
				l.reset()
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSleepWithoutWaker waits over a conduit that cannot wake a sleeper: it looks again in time.
func TestSleepWithoutWaker(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		got := 0
		err := alone(t, Config{Sleep: time.Nanosecond, Threads: threads}, []HandlerEntry{
			{Index: 130, Func: func(*Token, []uint32, []byte) { got++ }},
		}, func(ep *Endpoint) error {
			if err := ep.RequestShort(0, 130); err != nil {
				return err
			}
			ep.conduit.(*echo).held = hotPolls + pausePolls + 10
			if err := ep.WaitUntil(func() bool { return got > 0 }); err != nil {
				return err
			}
			s := ep.sleeper.(*asleep)
			if s.armed.Load() == 0 || s.armed.Load() != s.disarmed.Load() {
				t.Errorf("%v: armed %d times, disarmed %d times", threads, s.armed.Load(), s.disarmed.Load())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestWaitDuringPanic has a deferred call wait for what never comes: the panic passes.
func TestWaitDuringPanic(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		var waited error
		err := alone(t, Config{Threads: threads}, nil, func(ep *Endpoint) error {
			defer func() { waited = ep.WaitUntil(func() bool { return false }) }()
			panic("kaboom")
		})
		if StatusOf(err) != 2 || !strings.Contains(err.Error(), "kaboom") {
			t.Errorf("%v: the job ended with %v", threads, err)
		}
		if waited == nil || !strings.Contains(waited.Error(), "panicking") {
			t.Errorf("%v: the deferred wait returned %v", threads, waited)
		}
	}
}
