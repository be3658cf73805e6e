package coretest

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
)

var waitCases = []Case{{
	Name:  "wait/at-once",
	Rule:  "WaitUntil looks at its condition before any poll and returns if it holds (GASNET_BLOCKUNTIL)",
	Ranks: []int{1, 2}, Body: waitAtOnce,
}, {
	Name:  "wait/monotone",
	Rule:  "a wait ends when its condition has become true, though one poll may run many handlers; conditions may capture what they like",
	Ranks: []int{2, 3}, Body: waitMonotone,
}, {
	Name:  "wait/idle",
	Rule:  "a wait sleeps while nothing comes, for messages and for room, and no wake-up is lost",
	Ranks: []int{2, 4}, Needs: Live, Config: func(cfg *core.Config) { cfg.Sleep = 1 }, Body: waitIdle,
}, {
	Name:  "wait/poll",
	Rule:  "Poll runs handlers; a program may wait by polling",
	Ranks: []int{1, 2}, Body: waitPoll,
}, {
	Name:  "wait/turns",
	Rule:  "a loop of the caller's may be the wait, also in turns with WaitUntil: it sleeps, and loses no wake-up",
	Ranks: []int{1, 2}, Body: waitTurns,
}, {
	Name:  "wait/turns-late",
	Rule:  "a turn ends at once if something has happened since the turn before, by another context too",
	Ranks: []int{1, 2}, Body: waitTurnsLate,
}, {
	Name:  "wait/turns-together",
	Rule:  "goroutines may wait each in a loop of its own: a turn ends when something has happened, whichever of them polls",
	Ranks: []int{1, 2}, Needs: Threads, Config: func(cfg *core.Config) { cfg.Sleep = 1 }, Body: waitTurnsTogether,
}, {
	Name:  "wait/budget",
	Rule:  "one Poll handles a bounded number of messages, however many ranks have sent some",
	Ranks: []int{20}, Needs: Live, Body: waitBudget,
}, {
	Name:  "wait/failure",
	Rule:  "waits return the job's failure, at once if it has failed already, and so does Poll",
	Ranks: []int{2, 3}, Needs: Live, Body: waitFailure, Want: endsWith(7, "seven"),
}}

func waitAtOnce(t *T) error {
	var got, looked int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	for i := range t.Times(100) {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		before := got
		looked = 0
		if err := ep.WaitUntil(func() bool { looked++; return true }); err != nil {
			return err
		}
		if got != before || looked != 1 {
			return fmt.Errorf("a wait for what is true looked %d times and ran %d handlers", looked, got-before)
		}
		if err := t.Wait(&ep.Context, func() bool { return got > i }); err != nil {
			return err
		}
	}
	return nil
}

func waitMonotone(t *T) error {
	counts := make([]int, t.Size())
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { counts[tok.Src()] += int(args[0]) })
	if err != nil {
		return err
	}
	atLeast := func(n int) func(core.Rank) func() bool {
		return func(r core.Rank) func() bool { return func() bool { return counts[r] >= n } }
	}
	sum := 0
	for i := range t.Times(300) {
		if err := t.Others(func(dst core.Rank) error {
			for range 3 {
				if err := ep.RequestShort(dst, request, uint32(i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		sum += 3 * i
		enough := atLeast(sum)
		if err := t.Others(func(r core.Rank) error { return t.Wait(&ep.Context, enough(r)) }); err != nil {
			return err
		}
	}
	return nil
}

// waitIdle passes a token round, so that all but one rank sleep, and then has every rank
// wait for room at the next, which sleeps too when it has emptied its inbox.
func waitIdle(t *T) error {
	var round, got int
	ep, err := attach(t,
		func(*core.Token, []uint32, []byte) { round++ },
		func(tok *core.Token, _ []uint32, _ []byte) { got++; tok.ReplyShort(extra) }, ignore)
	if err != nil {
		return err
	}
	for i := range t.Times(200) {
		if t.Rank() != 0 || i > 0 {
			want := i
			if t.Rank() != 0 {
				want++
			}
			if err := t.Wait(&ep.Context, func() bool { return round >= want }); err != nil {
				return err
			}
		}
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
	}
	n := t.Times(1000)
	for range n {
		if err := ep.RequestShort(t.Next(), answer); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return got >= n })
}

func waitPoll(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	for i := range t.Times(100) {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		for got <= i {
			if err := ep.Poll(); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitBudget has all ranks send to rank 0 what there is room for, and then rank 0 poll.
func waitBudget(t *T) error {
	const most = 64 // twice what core asks of a conduit's Poll
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ }, ignore)
	if err != nil {
		return err
	}
	sent := func(r core.Rank) string { return fmt.Sprintf("rank %d has sent", r) }
	if t.Rank() != 0 {
		for err == nil && ep.Counts(0).Requests < 100 {
			err = ep.TryShort(0, request)
		}
		if t.Note(sent(t.Rank())); err == core.ErrNoRoom {
			return nil
		}
		return err
	}
	if err := t.Others(func(r core.Rank) error {
		for !t.Noted(sent(r)) {
			runtime.Gosched()
		}
		return nil
	}); err != nil {
		return err
	}
	for range 100 {
		before := got
		if err := ep.Poll(); err != nil {
			return err
		}
		if n := got - before; n > most {
			return fmt.Errorf("one Poll ran %d handlers", n)
		}
	}
	if got == 0 {
		return fmt.Errorf("100 Polls ran no handler")
	}
	return nil
}

func waitFailure(t *T) error {
	var ready int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { ready++ })
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		if err := t.Wait(&ep.Context, func() bool { return ready >= t.Size()-1 }); err != nil {
			return err
		}
		return fmt.Errorf("wrapped: %w", &core.ExitError{Status: 7, Reason: "seven"})
	}
	if err := ep.RequestShort(0, request); err != nil {
		return err
	}
	never := func() bool { return false }
	for what, err := range map[string]error{
		"first wait": ep.WaitUntil(never), "second wait": ep.WaitUntil(never), "Barrier": ep.Barrier(), "Poll": ep.Poll(),
	} {
		if x := new(core.ExitError); !errors.As(err, &x) || x.Status != 7 {
			t.Errorf("%s returned %v", what, err)
		}
	}
	return nil
}

// loop waits until cond holds, in a loop of its own.
func loop(c *core.Context, cond func() bool) error {
	for w := c.Turns("loop"); !cond(); {
		if err := w.Next(); err != nil {
			return err
		}
	}
	return nil
}

func waitTurns(t *T) error {
	var got int
	var ep *core.Endpoint
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) {
		w := ep.Turns("in a handler")
		if t.Config().Debug {
			tok.ReplyShort(answer)
			return
		}
		refused(t, "a turn in a handler", w.Next())
		tok.ReplyShort(answer)
	}, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	for i := range t.Times(150) {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		wait := loop
		if i%3 == 0 {
			wait = (*core.Context).WaitUntil
		}
		if err := wait(&ep.Context, func() bool { return got > i }); err != nil {
			return err
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	return t.Err()
}

func waitTurnsLate(t *T) error {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	other := ep.NewContext()
	w := ep.Turns("late") // before a peer may send, whose message could come while this rank polls in Meet
	for i := range 3 {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		if err := t.Wait(other, func() bool { return got > i }); err != nil {
			return err
		}
		if err := w.Next(); err != nil { // nobody sends anything now
			return err
		}
		w = ep.Turns("late")
		if err := t.Meet(ep, fmt.Sprint("round ", i)); err != nil {
			return err
		}
	}
	return ep.Barrier()
}

func waitTurnsTogether(t *T) error {
	const width = 3
	told := make([]atomic.Int32, width)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { tok.ReplyShort(answer, args...) },
		func(_ *core.Token, args []uint32, _ []byte) { told[args[0]].Add(1) })
	if err != nil {
		return err
	}
	n := t.Times(100)
	err = together(ep, width, func(i int, c *core.Context) error {
		for round := range int32(n) {
			if err := c.RequestShort(t.Next(), request, uint32(i)); err != nil {
				return err
			}
			if err := loop(c, func() bool { return told[i].Load() > round }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return ep.Barrier()
}
