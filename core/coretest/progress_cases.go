package coretest

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"

	"golang.org/x/sync/errgroup"
)

var progressCases = []Case{{
	Name:  "progress/dependent",
	Rule:  "every waiting goroutine gets a look at its condition once it may have become true, also if another polls meanwhile and its own condition depends on that",
	Ranks: []int{2}, Needs: Threads, Body: progressDependent,
}, {
	Name:  "progress/true-at-once",
	Rule:  "a wait for what is already true returns while another goroutine polls or sleeps, and no message comes",
	Ranks: []int{1}, Needs: Threads, Config: func(cfg *core.Config) { cfg.Sleep = 1 }, Body: progressTrueAtOnce,
}, {
	Name:  "progress/late",
	Rule:  "another goroutine may join in at any time, while the first communicates, polls or sleeps",
	Ranks: []int{1, 1, 1, 1, 2, 2, 2, 2}, Needs: Threads, Config: func(cfg *core.Config) { cfg.Sleep = 1 }, Body: progressLate,
}, {
	Name:  "progress/poller",
	Rule:  "one goroutine may poll for the others",
	Ranks: []int{2}, Needs: Threads, Body: progressPoller,
}, {
	Name:  "progress/register",
	Rule:  "handlers may be registered while other goroutines communicate",
	Ranks: []int{2}, Needs: Threads, Body: progressRegister,
}, {
	Name:  "progress/exit",
	Rule:  "any goroutine may end the job; waits of the others return",
	Ranks: []int{1, 2}, Needs: Threads, Want: endsWith(7), Body: progressExit,
}}

// progressDependent has two goroutines of rank 0 wait for events of which the second is
// caused by what the first does after its own.
func progressDependent(t *T) error {
	var first, second, back int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { first++ },
		func(*core.Token, []uint32, []byte) { second++ },
		func(*core.Token, []uint32, []byte) { back++ })
	if err != nil {
		return err
	}
	n := t.Times(200)
	if t.Rank() == 1 {
		for i := range n {
			if err := ep.RequestShort(0, request); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return back > i }); err != nil {
				return err
			}
			if err := ep.RequestShort(0, answer); err != nil {
				return err
			}
		}
		return nil
	}
	return together(ep, 2, func(i int, c *core.Context) error {
		for round := range n {
			event := &first
			if i == 1 {
				event = &second
			}
			if err := t.Wait(c, func() bool { return *event > round }); err != nil {
				return err
			}
			if i == 1 {
				continue
			}
			if err := c.RequestShort(1, extra); err != nil {
				return err
			}
		}
		return nil
	})
}

// progressTrueAtOnce has a goroutine wait for a message that another sends when it is back
// from waits for what is true.
func progressTrueAtOnce(t *T) error {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	for round := range t.Times(50) {
		var waits atomic.Bool
		err := together(ep, 2, func(i int, c *core.Context) error {
			if i == 0 {
				return t.Wait(c, func() bool { waits.Store(true); return got > round })
			}
			for !waits.Load() {
				runtime.Gosched()
			}
			for range 3 {
				if err := c.WaitUntil(func() bool { return true }); err != nil {
					return err
				}
			}
			return c.RequestShort(0, request)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// progressLate has the default context at work, and then asleep, when another comes.
func progressLate(t *T) error {
	var told, last int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { tok.ReplyShort(answer, args...) },
		func(_ *core.Token, args []uint32, _ []byte) { told, last = told+1, last+int(args[0]) })
	if err != nil {
		return err
	}
	n := t.Times(200)
	var busy atomic.Int32
	var late errgroup.Group
	late.Go(func() error {
		for int(busy.Load()) < n/2 {
			runtime.Gosched()
		}
		c := ep.NewContext() // the other sends, waits or sleeps at this moment
		for range n {
			if err := c.RequestShort(t.Next(), request, 0); err != nil {
				return err
			}
		}
		for int(busy.Load()) < n {
			runtime.Gosched()
		}
		return c.RequestShort(t.Next(), request, 1)
	})
	for range n {
		if err := ep.RequestShort(t.Next(), request, 0); err != nil {
			return err
		}
		busy.Add(1)
	}
	err = t.Wait(&ep.Context, func() bool { return last > 0 && told >= 2*n+1 })
	return errors.Join(err, late.Wait())
}

func progressPoller(t *T) error {
	told := make([]int, 3)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { tok.ReplyShort(answer, args...) },
		func(_ *core.Token, args []uint32, _ []byte) { told[args[0]]++ })
	if err != nil {
		return err
	}
	var ended atomic.Int32
	n := t.Times(150)
	return together(ep, len(told)+1, func(i int, c *core.Context) error {
		if i == len(told) {
			for int(ended.Load()) < len(told) {
				if err := c.Poll(); err != nil {
					return err
				}
				runtime.Gosched()
			}
			return nil
		}
		defer ended.Add(1)
		for round := range n {
			if err := c.RequestShort(t.Next(), request, uint32(i)); err != nil {
				return err
			}
			if err := t.Wait(c, func() bool { return told[i] > round }); err != nil {
				return err
			}
		}
		return nil
	})
}

func progressRegister(t *T) error {
	told := make([]int, 2)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { tok.ReplyShort(answer, args...) },
		func(_ *core.Token, args []uint32, _ []byte) { told[args[0]]++ })
	if err != nil {
		return err
	}
	n := t.Times(150)
	return together(ep, len(told)+1, func(i int, c *core.Context) error {
		if i == len(told) {
			for range 50 {
				if err := ep.RegisterHandlers([]core.HandlerEntry{{Func: ignore}}); err != nil {
					return err
				}
			}
			return nil
		}
		for round := range n {
			if err := c.RequestShort(t.Next(), request, uint32(i)); err != nil {
				return err
			}
			if err := t.Wait(c, func() bool { return told[i] > round }); err != nil {
				return err
			}
		}
		return nil
	})
}

func progressExit(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	var waiting atomic.Int32
	err = together(ep, 4, func(i int, c *core.Context) error {
		if i == 3 && t.Rank() == 0 {
			for waiting.Load() < 3 {
				runtime.Gosched()
			}
			t.Exit(7)
		}
		waiting.Add(1)
		return c.WaitUntil(func() bool { return false })
	})
	if err == nil {
		t.Errorf("waits for what never happens returned")
	}
	return err
}
