package coretest

import (
	"runtime"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
)

// killed is the status of a process that SIGKILL ended.
const killed = core.StatusLost

var killCases = []Case{{
	Name:  "kill/peers-wait",
	Rule:  "no wait hangs on a dead peer: it returns the job's failure",
	Ranks: []int{2, 4}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error { return killWhile(t, whileWaiting) },
}, {
	Name:  "kill/peers-in-barrier",
	Rule:  "no barrier hangs on a dead peer",
	Ranks: []int{2, 4}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error { return killWhile(t, whileInBarrier) },
}, {
	Name:  "kill/peers-poll",
	Rule:  "Poll returns the failure when a peer has died",
	Ranks: []int{2, 4}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error { return killWhile(t, whilePolling) },
}, {
	Name:  "kill/peers-flood",
	Rule:  "senders do not hang on a dead peer, nor on those that have left because of it",
	Ranks: []int{2, 4}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error { return killWhile(t, whileFlooding) },
}, {
	Name:  "kill/peers-wait-for-room",
	Rule:  "waiting for room at a peer ends when the peer dies",
	Ranks: []int{2, 3}, Needs: Kills, Want: endsWith(killed), Body: killWaitForRoom,
}, {
	Name:  "kill/contexts-parked",
	Rule:  "no wait of any goroutine hangs on a dead peer, however many wait",
	Ranks: []int{2}, Needs: Kills | Threads, Want: endsWith(killed, everyWaitReturned), Body: killParked,
}, {
	Name:  "kill/peers-finished",
	Rule:  "a rank's death ends those whose body has returned",
	Ranks: []int{2, 4}, Needs: Kills, Want: endsWith(killed),
	// The rank that dies waits until then: the others' part of the job could be over before.
	Body: func(t *T) error {
		return killWhile(t, func(ep *core.Endpoint) error {
			if int(t.Rank()) < t.Size()-1 {
				return nil
			}
			return ep.WaitUntil(func() bool { return false })
		})
	},
}, {
	Name:  "kill/peers-attach",
	Rule:  "attach does not hang on a dead peer",
	Ranks: []int{2, 3}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error {
		if t.Rank() == 0 {
			killMe(t)
			return nil
		}
		return survive(t, "Attach", attachOnly(t, core.AttachSpec{Segment: "4096"}))
	},
}, {
	Name:  "kill/in-handler",
	Rule:  "a rank may die while it runs a handler",
	Ranks: []int{2, 3}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error {
		ep, err := attach(t, func(*core.Token, []uint32, []byte) { killMe(t) })
		if err != nil {
			return err
		}
		if t.Rank() == 1 {
			if err := ep.RequestShort(0, request); err != nil {
				return err
			}
		}
		return survive(t, "WaitUntil", ep.WaitUntil(func() bool { return false }))
	},
}}

// killMe computes until the caller is dead. A goroutine cannot be killed: it goes on when
// another rank has seen the failure.
func killMe(t *T) {
	t.Kill(t.Rank())
	for !t.Noted("dead") {
		runtime.Gosched()
	}
}

// survive checks the failure that a call returned because of the death of a rank.
func survive(t *T, what string, err error) error {
	t.Note("dead")
	if status := core.StatusOf(err); status != killed {
		t.Errorf("%s returned %v with status %d, want the job's failure", what, err, status)
	}
	return err
}

// killWhile has rank 0 ask for the death of the last rank while all others do something
// that returns only when the job has failed. (When there are two, the last does so too.)
func killWhile(t *T, do func(*core.Endpoint) error) error {
	ep, err := readyForKill(t)
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		t.Kill(core.Rank(t.Size() - 1))
	}
	if err := do(ep); err != nil {
		return survive(t, "what peers do", err)
	}
	return nil
}

// readyForKill returns when every rank has attached, on rank 0 when all others have called.
func readyForKill(t *T) (*core.Endpoint, error) {
	var heard int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { heard++ }, ignore)
	if err != nil {
		return nil, err
	}
	if t.Rank() != 0 {
		return ep, ep.RequestShort(0, request)
	}
	return ep, t.Wait(&ep.Context, func() bool { return heard >= t.Size()-1 })
}

// everyWaitReturned is what killParked says in the end. A process that hangs is ended, and says nothing.
const everyWaitReturned = "every wait has returned"

// killParked has goroutines of rank 0 wait for what does not come, beside one that exchanges messages with rank 1
// until the others have lost patience. Then rank 1 dies.
func killParked(t *T) error {
	const width = 16
	var told int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	if t.Rank() == 1 {
		return survive(t, "WaitUntil", ep.WaitUntil(func() bool { return false }))
	}
	var waiting, ended atomic.Int32
	err = together(ep, width+1, func(i int, c *core.Context) error {
		looked := false
		never := func() bool {
			if !looked {
				looked = true
				waiting.Add(1)
			}
			return false
		}
		for round := 0; i == width && (int(waiting.Load()) < width || round < t.Times(300)); round++ {
			if err := c.RequestShort(1, request); err != nil {
				return err
			}
			if err := t.Wait(c, func() bool { return told > round }); err != nil {
				return err
			}
		}
		if i == width {
			t.Kill(1)
		}
		err := survive(t, "WaitUntil", c.WaitUntil(never))
		ended.Add(1)
		return err
	})
	if ended.Load() == width+1 {
		t.Printf("%s\n", everyWaitReturned)
	}
	return err
}

// killWaitForRoom has the last rank compute until there is no room at it any more.
func killWaitForRoom(t *T) error {
	ep, err := attach(t, ignore)
	if err != nil {
		return err
	}
	last := core.Rank(t.Size() - 1)
	if t.Rank() == last {
		for !t.Noted("full") {
			runtime.Gosched()
		}
		killMe(t)
		return nil
	}
	m := core.Message{Handler: request, Immediate: true}
	for err == nil {
		err = ep.Request(last, m)
	}
	if err != core.ErrNoRoom {
		return err
	}
	t.Note("full")
	for {
		if err := ep.RequestShort(last, request); err != nil {
			return survive(t, "a request without room", err)
		}
	}
}
