package coretest

import (
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

var panicCases = []Case{{
	Name:  "panic/in-body",
	Rule:  "a panic ends the job with status 2; the value and the rank are shown",
	Ranks: []int{1, 3}, Want: panicked,
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		if t.Rank() == 0 {
			panic("kaboom")
		}
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "panic/before-attach",
	Rule:  "a panic before attach ends ranks that attach",
	Ranks: []int{1, 3}, Want: panicked,
	Body: func(t *T) error {
		if t.Rank() == 0 {
			panic("kaboom")
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "panic/in-handler",
	Rule:  "a panic in a handler ends the job as any other",
	Ranks: []int{1, 2}, Want: panicked,
	Body: func(t *T) error {
		ep, err := attach(t, func(*core.Token, []uint32, []byte) { panic("kaboom") })
		if err != nil {
			return err
		}
		if int(t.Rank()) == t.Size()-1 {
			if err := ep.RequestShort(0, request); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "panic/peers-finished",
	Rule:  "a panic ends ranks whose body has returned",
	Ranks: []int{3}, Want: panicked,
	Body: func(t *T) error {
		_, err := ready(t)
		if err != nil {
			return err
		}
		if int(t.Rank()) == t.Size()-1 {
			panic("kaboom")
		}
		return nil
	},
}, {
	Name:  "panic/deferred-wait",
	Rule:  "a deferred call that waits while a panic passes does not hold it up",
	Ranks: []int{1, 3}, Want: endsWith(2, "panic"), // under a model the value is lost
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		never := func() bool { return false }
		if t.Rank() == 0 {
			defer func() { _ = ep.WaitUntil(never) }()
			panic("kaboom")
		}
		return ep.WaitUntil(never)
	},
}, {
	Name:  "panic/deferred-wait-in-handler",
	Rule:  "the same when the panic comes from a handler",
	Ranks: []int{1, 3}, Want: panicked,
	Body: func(t *T) error {
		ep, err := attach(t, func(*core.Token, []uint32, []byte) { panic("kaboom") })
		if err != nil {
			return err
		}
		never := func() bool { return false }
		if t.Rank() == 0 {
			defer func() { _ = ep.WaitUntil(never) }()
			if err := ep.RequestShort(0, request); err != nil {
				return err
			}
		}
		return ep.WaitUntil(never)
	},
}, {
	Name:  "panic/recovered",
	Rule:  "a panic that the program recovers from is its own affair, in handlers too",
	Ranks: []int{1, 3}, Body: panicRecovered,
}, {
	Name:  "panic/recovered-wait",
	Rule:  "a deferred call that recovers and then waits cannot be told from one that holds the panic up; whichever it is taken for, the job ends",
	Ranks: []int{2}, Needs: Live, Config: func(cfg *core.Config) { cfg.Sleep = 1 }, Body: panicRecoveredWait,
	Want: func(o *Outcome) error {
		if o.Status == 0 {
			return nil
		}
		return endsWith(2, "panic")(o)
	},
}, {
	Name:  "panic/goroutine",
	Rule:  "a panic on another goroutine ends the process, and with it the job",
	Ranks: []int{2}, Needs: Processes | Threads, Want: endsWith(2, "kaboom"),
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		if t.Rank() == 0 {
			go panic("kaboom")
		}
		return ep.WaitUntil(func() bool { return false })
	},
}}

// panicked wants the outcome of panic("kaboom").
func panicked(o *Outcome) error { return endsWith(2, "kaboom", "panic")(o) }

// caught runs f and returns the value that it panicked with.
func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func panicRecovered(t *T) error {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) {
		got++
		caught(func() { panic("kaboom") })
	})
	if err != nil {
		return err
	}
	for i := range 3 {
		if v := caught(func() { panic("kaboom") }); v != "kaboom" {
			t.Errorf("recovered %v", v)
		}
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return got > i }); err != nil {
			return err
		}
	}
	return ep.Barrier()
}

// panicRecoveredWait has rank 0 wait in a deferred call until rank 1 says that it sees it
// wait.
func panicRecoveredWait(t *T) (err error) {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	if t.Rank() == 1 {
		for !t.Noted("waits") {
			runtime.Gosched()
		}
		return ep.RequestShort(0, request)
	}
	defer func() {
		_ = recover()
		err = ep.WaitUntil(func() bool {
			t.Note("waits")
			return got > 0
		})
	}()
	panic("kaboom")
}
