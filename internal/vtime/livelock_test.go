package vtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// again is an event that comes again and again.
type again struct {
	k     *vtime.Kernel
	every vtime.Time
	left  uint64 // how often; it ends with 0
	then  func()
}

func (a *again) Fire(_, _ uint64) {
	if a.left--; a.left > 0 {
		a.k.At(a.k.Now()+a.every, a, 0, 0)
	} else if a.then != nil {
		a.then()
	}
}

// TestLivelock has events fire for ever while procs wait for what does not come: one that comes after a time, and one that comes at once.
func TestLivelock(t *testing.T) {
	t.Parallel()
	for _, every := range []vtime.Time{0, 20 * vtime.Microsecond, vtime.Second} {
		k := vtime.New(1)
		a := &again{k: k, every: every, left: 1 << 40}
		k.At(vtime.Second, a, 0, 0)
		k.Spawn("rank 0", func(*vtime.Proc) {})
		k.Spawn("rank 1", func(p *vtime.Proc) {
			p.SetWaiting("the reply of rank 0")
			p.Park(1)
		})
		err := k.Run()
		var locked *vtime.DeadlockError
		if !errors.As(err, &locked) || locked.Events == 0 || len(locked.Waits) != 1 {
			t.Fatalf("every %v: Run = %v, want a livelock", every, err)
		}
		if text := err.Error(); !strings.Contains(text, "vtime: livelock at ") || !strings.Contains(text, "rank 1 waits for the reply of rank 0 since 0s") {
			t.Errorf("every %v: error %v", every, text)
		}
		if every == 0 && locked.At != vtime.Second {
			t.Errorf("the time of a livelock that takes none is %v", locked.At)
		}
	}
}

// TestNoLivelock has as many events, and as much time, pass as of a livelock, while a proc computes; while procs are woken by one of them now and then; and until one that comes last.
func TestNoLivelock(t *testing.T) {
	t.Parallel()
	const many = 5 << 20
	for name, c := range map[string]struct {
		every vtime.Time
		left  uint64
		body  func(p *vtime.Proc, a *again)
	}{
		"computes": {vtime.Millisecond, 1 << 40, func(p *vtime.Proc, _ *again) {
			p.Charge(many * vtime.Millisecond)
			p.Sync()
		}},
		"is woken": {100 * vtime.Microsecond, 1 << 40, func(p *vtime.Proc, a *again) {
			for range 10 {
				a.k.At(p.Now()+(1<<20)*a.every, do(p.Arrive), 0, 0)
				p.Park(1)
			}
		}},
		"is woken in the end": {vtime.Microsecond, many, func(p *vtime.Proc, a *again) {
			a.then = p.Arrive
			p.Park(1)
		}},
	} {
		k := vtime.New(1)
		a := &again{k: k, every: c.every, left: c.left}
		k.At(0, a, 0, 0)
		waits := k.Spawn("waits for the other", func(p *vtime.Proc) { p.Park(1) })
		k.Spawn(name, func(p *vtime.Proc) {
			c.body(p, a)
			waits.Arrive()
		})
		if err := k.Run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
