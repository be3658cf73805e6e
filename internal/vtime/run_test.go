package vtime_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

var errStop = errors.New("stop")

func TestRunEndsWithLastProc(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	n := &note{k: k}
	k.At(1000, n, 0, 0)
	for i := range 4 {
		k.Spawn("p", func(p *vtime.Proc) { p.Charge(vtime.Time(10 * i)) })
	}
	run(t, k)
	if k.Now() != 30 || len(n.log) != 0 {
		t.Errorf("ended at %v, %d events fired; want 30ps and none", k.Now(), len(n.log))
	}
}

func TestDeadlock(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	unwound := 0
	for i := range 3 {
		k.Spawn(fmt.Sprint("rank ", i), func(p *vtime.Proc) {
			defer func() { unwound++ }()
			if i == 1 {
				return
			}
			p.Charge(vtime.Time(1+i) * vtime.Microsecond)
			if i == 2 {
				p.SetWaiting("the reply of rank 1")
			}
			p.Park(1)
		})
	}
	k.At(5*vtime.Microsecond, do(func() {}), 0, 0)
	err := k.Run()
	var deadlock *vtime.DeadlockError
	if !errors.As(err, &deadlock) {
		t.Fatalf("Run = %v, want a deadlock", err)
	}
	if unwound != 3 {
		t.Errorf("the deferred calls of %d procs ran, want 3", unwound)
	}
	want := "vtime: deadlock at 5µs: nothing is left to happen, but procs wait (2):\n" +
		"  rank 0 waits for an arrival since 1µs\n" +
		"  rank 2 waits for the reply of rank 1 since 3µs"
	if err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%v", err, want)
	}
}

// TestDeadlockTellsOfPanic has a proc whose deferred call waits for ever while
// the proc panics.
func TestDeadlockTellsOfPanic(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Spawn("innocent", func(p *vtime.Proc) { p.Park(1) })
	k.Spawn("culprit", func(p *vtime.Proc) {
		defer p.Park(1)
		var nothing []int
		nothing[0]++
	})
	err := k.Run()
	var deadlock *vtime.DeadlockError
	if !errors.As(err, &deadlock) || len(deadlock.Waits) != 2 {
		t.Fatalf("Run = %v, want a deadlock of two", err)
	}
	if deadlock.Waits[0].Panic != nil || !strings.Contains(string(deadlock.Waits[1].Panic), "TestDeadlockTellsOfPanic") {
		t.Errorf("the stack belongs to culprit alone:\n%v", err)
	}
	if !strings.Contains(err.Error(), "in a deferred call while it panics") {
		t.Errorf("nothing of a panic in: %v", err)
	}
}

func TestPanicInProc(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	unwound := 0
	k.Spawn("rank 0", func(p *vtime.Proc) {
		defer func() { unwound++ }()
		p.Park(1)
	})
	k.Spawn("rank 1", func(p *vtime.Proc) {
		p.Charge(vtime.Microsecond / 2)
		p.Sync()
		p.Charge(vtime.Microsecond / 2)
		panic(errStop)
	})
	k.Spawn("rank 2", func(p *vtime.Proc) {
		defer func() { unwound++ }()
		p.Charge(vtime.Microsecond)
		p.Sync()
	})
	err := k.Run()
	var failed *vtime.PanicError
	if !errors.As(err, &failed) || !errors.Is(err, errStop) {
		t.Fatalf("Run = %v, want the panic", err)
	}
	if failed.Proc != "rank 1" || failed.At != vtime.Microsecond || failed.Value != errStop {
		t.Errorf("%q panicked at %v with %v", failed.Proc, failed.At, failed.Value)
	}
	text := err.Error()
	if !strings.HasPrefix(text, "vtime: rank 1 panicked at 1µs: stop\n") || !strings.Contains(text, "TestPanicInProc") {
		t.Errorf("name, time, value or stack missing in: %s", text)
	}
	if unwound != 2 {
		t.Errorf("%d other procs unwound, want 2", unwound)
	}
}

// TestPanicInEvent has an event panic on the stack of a proc that waits and
// recovers whatever it can.
func TestPanicInEvent(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Spawn("rank 0", func(p *vtime.Proc) {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("the proc recovered %v", v)
			}
		}()
		p.Park(1)
	})
	k.At(7, do(func() { panic("broken link") }), 0, 0)
	err := k.Run()
	var failed *vtime.PanicError
	if !errors.As(err, &failed) || failed.Proc != "" || failed.At != 7 || failed.Value != "broken link" {
		t.Fatalf("Run = %v, want the panic", err)
	}
	if failed.Unwrap() != nil || !strings.HasPrefix(err.Error(), "vtime: an event panicked at 7ps: broken link\n") {
		t.Errorf("error: %v", err)
	}
}

// TestUnwind ends a run from everywhere, in states of every kind.
func TestUnwind(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"before Run", "event", "proc", "deferred call"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			k := vtime.New(1)
			var log []string
			body := func(wait func(p *vtime.Proc)) func(*vtime.Proc) {
				return func(p *vtime.Proc) {
					defer func() { log = append(log, p.Name()) }()
					wait(p)
					t.Errorf("%s goes on after Unwind", p.Name())
				}
			}
			k.Spawn("parked", body(func(p *vtime.Proc) { p.Park(1) }))
			k.Spawn("synchronising", body(func(p *vtime.Proc) {
				p.Charge(vtime.Second)
				p.Sync()
			}))
			k.Spawn("ending", body(func(p *vtime.Proc) {
				defer func() {
					if from == "deferred call" {
						k.Unwind(errStop)
					}
				}()
				p.Charge(10)
				p.Sync()
				if from == "proc" {
					k.Unwind(errStop)
				}
				if from == "deferred call" {
					panic("hidden by the call of Unwind before it")
				}
				p.Park(1)
			}))
			k.At(20, do(func() {
				k.Unwind(errStop)
				k.Unwind(errors.New("not the first"))
			}), 0, 0)
			k.At(20, do(func() { t.Error("an event fires after Unwind") }), 0, 0)
			if from == "before Run" {
				k.Unwind(errStop)
			}
			if err := k.Run(); err != errStop {
				t.Errorf("Run = %v, want %v", err, errStop)
			}
			if from == "before Run" {
				wantLog(t, log)
			} else {
				wantLog(t, log, "parked", "synchronising", "ending")
			}
		})
	}
}

func TestUnwindWithoutCause(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Spawn("parked", func(p *vtime.Proc) { p.Park(1) })
	k.Spawn("done", func(p *vtime.Proc) { k.Unwind(nil) })
	run(t, k)
}

// TestUnwindCannotBeStopped has bodies that do all they can to go on.
func TestUnwindCannotBeStopped(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	var log []string
	attempt := func(what string, f func()) {
		log = append(log, what)
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("%s recovered %v", what, v)
			}
		}()
		f()
		t.Errorf("%s came back", what)
	}
	k.Spawn("p", func(p *vtime.Proc) {
		defer attempt("Unwind", func() { k.Unwind(nil) })
		defer attempt("Sync", p.Sync)
		defer attempt("Park", func() { p.Park(1) })
		defer func() {
			k.At(p.Now(), do(func() { t.Error("an event fires after Unwind") }), 0, 0)
			p.Charge(1)
			p.Arrive()
		}()
		for {
			attempt("body", func() { p.Park(1) })
		}
	})
	k.At(1, do(func() { k.Unwind(errStop) }), 0, 0)
	if err := k.Run(); err != errStop {
		t.Errorf("Run = %v, want %v", err, errStop)
	}
	wantLog(t, log, "body", "Park", "Sync", "Unwind")
}

// TestGoexit has a body, or an event, end its goroutine as FailNow does.
func TestGoexit(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"body", "event"} {
		k := vtime.New(1)
		unwound := 0
		for i := range 3 {
			k.Spawn("p", func(p *vtime.Proc) {
				defer func() { unwound++ }()
				p.Charge(10)
				p.Sync()
				if i == 1 && from == "body" {
					runtime.Goexit()
				}
				p.Park(1)
			})
		}
		k.At(20, do(runtime.Goexit), 0, 0)
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			_ = k.Run()
			returned = true
		}()
		<-ended
		if returned || unwound != 3 {
			t.Errorf("Goexit in %s: Run returned: %v; %d of 3 procs unwound", from, returned, unwound)
		}
	}
}

// TestLockedThread runs and unwinds a kernel on a goroutine that is locked to
// its thread, as a program's main may be.
func TestLockedThread(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := vtime.New(1)
	k.Spawn("parked", func(p *vtime.Proc) { p.Park(1) })
	k.Spawn("ending", func(p *vtime.Proc) {
		p.Charge(1)
		p.Sync()
		k.Unwind(errStop)
	})
	if err := k.Run(); err != errStop {
		t.Errorf("Run = %v, want %v", err, errStop)
	}
}

// TestNoGoroutineIsLeft is not parallel, for it counts goroutines.
func TestNoGoroutineIsLeft(t *testing.T) {
	ends := map[string]func(*vtime.Proc){
		"return":   func(*vtime.Proc) {},
		"deadlock": func(p *vtime.Proc) { p.Park(1) },
		"panic":    func(p *vtime.Proc) { panic("over") },
		"unwind":   func(p *vtime.Proc) { p.Kernel().Unwind(errStop) },
	}
	before := runtime.NumGoroutine()
	for name, end := range ends {
		k := vtime.New(1)
		for i := range 50 {
			k.Spawn("p", func(p *vtime.Proc) {
				p.Charge(vtime.Time(i))
				p.Sync()
				if i == 25 {
					end(p)
				}
				if name != "return" {
					p.Park(1)
				}
			})
		}
		if err := k.Run(); (err == nil) != (name == "return") {
			t.Errorf("%s: Run = %v", name, err)
		}
		// The kernel's own goroutines have said that they are done, but may
		// have some instructions to go.
		for range 1_000_000 {
			if runtime.NumGoroutine() <= before {
				break
			}
			runtime.Gosched()
		}
		if left := runtime.NumGoroutine() - before; left > 0 {
			t.Errorf("%s: %d goroutines left", name, left)
		}
	}
}
