package coretest

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

var exitCases = []Case{{
	Name:  "exit/zero",
	Rule:  "Exit(0) of any rank ends the job well, whatever the others do (gasnet_exit)",
	Ranks: []int{1, 3}, Apart: true, Body: func(t *T) error { return exitWhile(t, 0, whileWaiting) },
}, {
	Name:  "exit/status",
	Rule:  "Exit ends the job with its status",
	Ranks: []int{1, 3}, Want: endsWith(3), Body: func(t *T) error { return exitWhile(t, 3, whileWaiting) },
}, {
	Name:  "exit/peers-poll",
	Rule:  "Exit ends ranks that poll",
	Ranks: []int{3}, Want: endsWith(3), Body: func(t *T) error { return exitWhile(t, 3, whilePolling) },
}, {
	Name:  "exit/peers-in-barrier",
	Rule:  "Exit ends ranks in a barrier",
	Ranks: []int{3}, Want: endsWith(3), Body: func(t *T) error { return exitWhile(t, 3, whileInBarrier) },
}, {
	Name:  "exit/peers-finished",
	Rule:  "Exit ends ranks whose body has returned",
	Ranks: []int{3}, Want: endsWith(3), Body: func(t *T) error { return exitWhile(t, 3, whileNothing) },
}, {
	Name:  "exit/peers-flood",
	Rule:  "Exit ends ranks that keep sending, also to themselves",
	Ranks: []int{3}, Want: endsWith(3), Body: func(t *T) error { return exitWhile(t, 3, whileFlooding) },
}, {
	Name:  "exit/peers-compute",
	Rule:  "Exit ends ranks that compute and never call the library",
	Ranks: []int{3}, Needs: Processes, Want: endsWith(3),
	Config: func(cfg *core.Config) { cfg.Grace = 200 * time.Millisecond }, // that long they compute
	Body:   func(t *T) error { return exitWhile(t, 3, whileComputing) },
}, {
	Name:  "exit/peers-attach",
	Rule:  "Exit before attach ends ranks that attach",
	Ranks: []int{1, 3}, Want: endsWith(4),
	Body: func(t *T) error {
		if int(t.Rank()) == t.Size()-1 {
			t.Exit(4)
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "exit/first-rank-peers-attach",
	Rule:  "the same when the first rank exits",
	Ranks: []int{3}, Want: endsWith(4),
	Body: func(t *T) error {
		if t.Rank() == 0 {
			t.Exit(4)
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "exit/in-handler",
	Rule:  "a handler may call Exit",
	Ranks: []int{1, 2}, Want: endsWith(6), Body: exitInHandler,
}, {
	Name:  "exit/in-reply-handler",
	Rule:  "a reply handler may call Exit(0)",
	Ranks: []int{1, 2}, Apart: true, Body: func(t *T) error {
		ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
			func(*core.Token, []uint32, []byte) { t.Exit(0) })
		if err != nil {
			return err
		}
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "exit/prepared",
	Rule:  "Exit may be called between Prepare and Commit (GASNet-EX, negotiated-payload AMs)",
	Ranks: []int{1, 2}, Want: endsWith(5), Body: exitPrepared,
}, {
	Name:  "exit/locked",
	Rule:  "Exit may be called while holding a handler-safe lock",
	Ranks: []int{1, 2}, Want: endsWith(5),
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		var l core.HSL
		if l.Lock(&ep.Context); t.Rank() == 0 {
			t.Exit(5)
		}
		l.Unlock(&ep.Context)
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "exit/all",
	Rule:  "of several concurrent calls of Exit one wins",
	Ranks: []int{2, 4},
	Want: func(o *Outcome) error {
		if o.Status < 10 || o.Status > 13 {
			return fmt.Errorf("want status 10 to 13")
		}
		return nil
	},
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		t.Exit(10 + int(t.Rank()))
		return nil
	},
}, {
	Name:  "exit/non-zero-beats-zero",
	Rule:  "a non-zero status wins over Exit(0) that came first",
	Ranks: []int{2}, Needs: Live, Want: endsWith(4),
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		if t.Rank() == 0 {
			t.Exit(0)
		}
		if err := ep.WaitUntil(func() bool { return false }); err == nil {
			t.Errorf("a wait for what never happens returned")
		}
		t.Exit(4)
		return nil
	},
}, {
	Name:  "exit/error",
	Rule:  "a body's error ends the job with status 1 and names rank and error",
	Ranks: []int{1, 3}, Want: endsWith(1, "boom", "rank 0"), Body: func(t *T) error { return exitError(t, errors.New("boom")) },
}, {
	Name:  "exit/error-with-status",
	Rule:  "a body's ExitError, wrapped or not, ends the job with its status",
	Ranks: []int{1, 3}, Want: endsWith(9, "nine"),
	Body: func(t *T) error {
		return exitError(t, fmt.Errorf("wrapped: %w", &core.ExitError{Status: 9, Reason: "nine"}))
	},
}, {
	Name:  "exit/error-before-attach",
	Rule:  "an error before attach ends ranks that attach",
	Ranks: []int{1, 3}, Want: endsWith(1, "boom"),
	Body: func(t *T) error {
		if t.Rank() == 0 {
			return errors.New("boom")
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "exit/unattached",
	Rule:  "a job none of whose ranks attaches ends well",
	Ranks: []int{1, 3}, Body: func(*T) error { return nil },
}, {
	Name:  "exit/one-unattached",
	Rule:  "a rank that leaves without attaching while others attach fails the job, which says so",
	Ranks: []int{2, 3}, Want: endsWith(1, "rank 0 has returned before it called Attach, which rank 1 has called"),
	Body: func(t *T) error {
		if t.Rank() == 0 {
			return nil
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "exit/finish-serves",
	Rule:  "a rank whose body has returned serves its peers until all have finished",
	Ranks: []int{2, 4}, Body: exitFinishServes,
}, {
	Name:  "exit/unwinds",
	Rule:  "where a rank is no process, Exit runs its deferred calls, and those of ranks that wait",
	Ranks: []int{1, 3}, Needs: Unwinding, Body: exitUnwinds,
	Want: endsWith(3, "rank 0 unwound", "last rank unwound"),
}}

// exitWhile has the last rank exit while the others do something that returns only when
// the job has failed.
func exitWhile(t *T, status int, do func(*core.Endpoint) error) error {
	ep, err := ready(t)
	if err != nil {
		return err
	}
	if int(t.Rank()) == t.Size()-1 {
		t.Exit(status)
		t.Errorf("Exit returned")
	}
	return do(ep)
}

func exitInHandler(t *T) error {
	ep, err := attach(t, func(*core.Token, []uint32, []byte) {
		t.Exit(6)
		t.Errorf("Exit returned")
	})
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
	}
	return ep.WaitUntil(func() bool { return false })
}

func exitPrepared(t *T) error {
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) {
		if _, err := tok.Prepare(core.Offer{Kind: core.Medium, Most: 8}); err != nil {
			t.Errorf("Prepare: %v", err)
		}
		t.Exit(5)
	})
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		if t.Size() == 1 { // once in the handler, once outside
			if _, err := ep.Prepare(0, core.Offer{Kind: core.Medium, Most: 8}); err != nil {
				return err
			}
			t.Exit(5)
		}
		if err := ep.RequestShort(1, request); err != nil {
			return err
		}
	}
	return ep.WaitUntil(func() bool { return false })
}

func exitError(t *T, cause error) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		return cause
	}
	return ep.WaitUntil(func() bool { return false })
}

func exitFinishServes(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	for i := range t.Times(100) * int(t.Rank()) { // rank 0 finishes at once
		if err := ep.RequestShort(core.Rank(i)%t.Rank(), request); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
	}
	return nil
}

func exitUnwinds(t *T) error {
	defer t.Printf("rank %d unwound", t.Rank())
	if int(t.Rank()) == t.Size()-1 {
		defer t.Printf("last rank unwound")
	}
	return exitWhile(t, 3, whileWaiting)
}
