package vtime_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestLose loses procs that park, that have a wake-up queued, that are ahead, and
// one that has ended.
func TestLose(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	var log []string
	body := func(f func(p *vtime.Proc)) func(*vtime.Proc) {
		return func(p *vtime.Proc) {
			defer func() { log = append(log, fmt.Sprint(p.Name(), " unwound at ", k.Now())) }()
			f(p)
			log = append(log, fmt.Sprint(p.Name(), " ends at ", p.Now()))
		}
	}
	procs := []*vtime.Proc{
		k.Spawn("parked", body(func(p *vtime.Proc) { p.Park(1) })),
		k.Spawn("woken", body(func(p *vtime.Proc) { p.Park(100) })),
		k.Spawn("ahead", body(func(p *vtime.Proc) { p.Charge(50); p.Sync() })),
		k.Spawn("ended", body(func(*vtime.Proc) {})),
	}
	k.Spawn("left", body(func(p *vtime.Proc) {
		mustPanic(t, "called by a proc", procs[0].Lose)
		p.Charge(200)
		p.Sync()
	}))
	k.At(5, do(procs[1].Arrive), 0, 0) // wakes at 100ps
	k.At(10, do(func() {
		for _, p := range procs {
			p.Lose()
			p.Lose()
			p.Arrive()
		}
	}), 0, 0)
	run(t, k)
	wantLog(t, log, "ended ends at 0s", "ended unwound at 0s", "left ends at 200ps", "left unwound at 200ps",
		"parked unwound at 200ps", "woken unwound at 200ps", "ahead unwound at 200ps")
	if !procs[0].Lost() || procs[3].Lost() {
		t.Error("Lost does not tell who was lost")
	}
}

// TestLoseAll ends a run although events go on for ever.
func TestLoseAll(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	p := k.Spawn("alone", func(p *vtime.Proc) { p.Park(1) })
	var tick do
	tick = func() { k.At(k.Now()+1, tick, 0, 0) }
	k.At(0, tick, 0, 0)
	k.At(10, do(p.Lose), 0, 0)
	run(t, k)
}

// TestLostIsNoDeadlock wants only the others in the report.
func TestLostIsNoDeadlock(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	p := k.Spawn("lost", func(p *vtime.Proc) { p.Park(1) })
	k.Spawn("left", func(p *vtime.Proc) { p.Park(1) })
	k.At(10, do(p.Lose), 0, 0)
	err := k.Run()
	var deadlock *vtime.DeadlockError
	if !errors.As(err, &deadlock) || len(deadlock.Waits) != 1 || deadlock.Waits[0].Proc != "left" {
		t.Errorf("Run = %v", err)
	}
}

// TestLargeDeadlock wants a short report of many procs.
func TestLargeDeadlock(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	for i := range 5000 {
		k.Spawn(fmt.Sprint("rank ", i), func(p *vtime.Proc) {
			p.Charge(vtime.Time(i))
			switch {
			case i == 7:
				defer p.Park(1)
				panic("unlucky")
			case i%2 == 0:
				p.SetWaiting("a barrier")
			default:
				p.SetWaiting(fmt.Sprint("message ", i%100/2))
			}
			p.Park(1)
		})
	}
	text := k.Run().Error()
	for _, want := range []string{
		"procs wait (5000):\n  rank 0, rank 2, rank 4, rank 6 and 2496 more wait for a barrier since 0s to 4.998ns\n",
		"\n  rank 7 waits for an arrival since 7ps, in a deferred call while it panics\n",
		"\n  and 36 other kinds of wait\n",
		"panic of rank 7:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q in\n%s", want, text)
		}
	}
	if lines := strings.Count(text[:strings.Index(text, "panic of")], "\n"); lines > 25 {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}
