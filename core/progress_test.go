package core

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func spinUntil(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}

// async runs f on a goroutine; its error comes by the channel.
func async(f func() error) <-chan error {
	errs := make(chan error, 1)
	go func() { errs <- f() }()
	return errs
}

// TestKickWakesSleeper kicks while the only context that waits sleeps in the kernel.
func TestKickWakesSleeper(t *testing.T) {
	var got int
	err := narrowly(t, Config{Sleep: 1}, &got, func(ep *Endpoint, c *narrow) error {
		advanced := false
		ep.OnAdvance(func(*Context) int { ep.Unkick(); advanced = true; return 1 })
		waiter := ep.NewContext()
		waited := async(func() error { return waiter.WaitUntil(func() bool { return advanced }) })
		c.sleeps()
		return errors.Join(ep.Exclusively(ep.Kick), <-waited)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRoomDuringArm has room return between a context's last look and the sleeper's, and
// another context look at it in between, so that the sleeper has nothing to tell.
func TestRoomDuringArm(t *testing.T) {
	var got int
	err := narrowly(t, Config{Sleep: 1}, &got, func(ep *Endpoint, c *narrow) error {
		waiter, other := ep.NewContext(), ep.NewContext()
		var sent error
		c.tight = true
		c.onArm = func() {
			if c.arms.Load() != 2 { // not the sleep that NewContext ends
				return
			}
			c.held.Store(true)
			c.mu.Lock()
			c.room = 2
			c.mu.Unlock()
			sent = other.TryShort(0, 130)
		}
		return errors.Join(waiter.RequestShort(0, 130), sent)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRegisterBesideWaiter registers handlers while a context polls that will not sleep for
// an hour.
func TestRegisterBesideWaiter(t *testing.T) {
	var got int
	err := narrowly(t, Config{Sleep: time.Hour}, &got, func(ep *Endpoint, _ *narrow) error {
		var looked atomic.Bool
		waiter := ep.NewContext()
		waited := async(func() error {
			return waiter.WaitUntil(func() bool { looked.Store(true); return got > 0 })
		})
		spinUntil(looked.Load)
		if err := ep.RegisterHandlers([]HandlerEntry{{Func: nop}}); err != nil {
			return err
		}
		return errors.Join(ep.RequestShort(0, 130), <-waited)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRegisterAfterExit registers handlers when a handler has ended the job, and with it the
// goroutine that polled.
func TestRegisterAfterExit(t *testing.T) {
	var got int
	registered := make(chan error, 1)
	_ = narrowly(t, Config{}, &got, func(ep *Endpoint, _ *narrow) error {
		poller, left := ep.NewContext(), make(chan struct{})
		go func() {
			defer close(left)
			if err := poller.RequestShort(0, 131); err == nil {
				_ = poller.WaitUntil(func() bool { return false })
			}
		}()
		<-left
		registered <- ep.RegisterHandlers([]HandlerEntry{{Func: nop}})
		return nil
	})
	select {
	case err := <-registered:
		if StatusOf(err) != 3 {
			t.Errorf("RegisterHandlers returned %v, want the end with status 3", err)
		}
	default:
		t.Error("RegisterHandlers did not return")
	}
}

// TestNewContextBesideFlood makes a context while the default one waits and every poll of it
// finds something.
func TestNewContextBesideFlood(t *testing.T) {
	var got int
	err := narrowly(t, Config{}, &got, func(ep *Endpoint, c *narrow) error {
		c.flood.Store(true)
		var looked atomic.Bool
		made := async(func() error {
			spinUntil(looked.Load)
			other := ep.NewContext()
			c.flood.Store(false)
			return other.RequestShort(0, 130)
		})
		return errors.Join(ep.WaitUntil(func() bool { looked.Store(true); return got > 0 }), <-made)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFailureBesideFlood ends the job while a context waits and every poll finds something.
func TestFailureBesideFlood(t *testing.T) {
	for name, cfg := range map[string]Config{"single": {Threads: Single}, "alone": {}, "many": {}} {
		var got int
		returned := make(chan struct{})
		err := narrowly(t, cfg, &got, func(ep *Endpoint, c *narrow) error {
			waiter := &ep.Context
			if name == "many" {
				waiter = ep.NewContext()
			}
			c.flood.Store(true)
			var looked atomic.Bool
			failed := async(func() error {
				spinUntil(looked.Load)
				ep.Fail(errors.New("enough"))
				return nil
			})
			err := waiter.WaitUntil(func() bool { looked.Store(true); return false })
			close(returned)
			return errors.Join(err, <-failed)
		})
		if err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("%s: the job ended with %v", name, err)
		}
		select {
		case <-returned:
		default:
			t.Errorf("%s: the wait did not return", name)
		}
	}
}

// TestFailedCommit has the job end while Commit waits for room: the message stays prepared.
func TestFailedCommit(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		var got int
		_ = narrowly(t, Config{Threads: threads}, &got, func(ep *Endpoint, c *narrow) error {
			if _, err := ep.Prepare(0, Offer{Kind: Medium, Most: 8, Buf: make([]byte, 8)}); err != nil {
				return err
			}
			c.tight = true
			ep.Fail(&ExitError{3, "enough"})
			for i := range 2 {
				if err := ep.Commit(130, 8); StatusOf(err) != 3 {
					t.Errorf("%v: Commit %d returned %v, want the job's end", threads, i, err)
				}
			}
			if err, u := ep.Poll(), new(UsageError); !errors.As(err, &u) || !strings.Contains(u.Msg, "prepared") {
				t.Errorf("%v: Poll with a prepared message returned %v", threads, err)
			}
			return nil
		})
	}
}

// TestParkedTakeTurns has contexts wait for what does not come while every poll finds something: most
// polls wake none of them, and none is forgotten.
func TestParkedTakeTurns(t *testing.T) {
	const waiters, rounds = 8, 50
	var got int
	err := narrowly(t, Config{}, &got, func(ep *Endpoint, c *narrow) error {
		var polls, changes atomic.Int32
		var poller *Context
		c.onPoll = func() {
			if polls.Add(1); poller != ep.poller {
				changes.Add(1)
			}
			poller = ep.poller
		}
		var looks [waiters]atomic.Int32
		var all []<-chan error
		for i := range waiters {
			waiter := ep.NewContext()
			all = append(all, async(func() error {
				return waiter.WaitUntil(func() bool { looks[i].Add(1); return got > 0 })
			}))
		}
		c.flood.Store(true)
		look := func(times int) {
			for i := range looks {
				enough := looks[i].Load() + int32(times)
				spinUntil(func() bool { return looks[i].Load() >= enough || ep.job.failure() != nil })
			}
		}
		look(3 * ep.idle.hot) // until they have lost patience
		polled, changed := polls.Load(), changes.Load()
		look(rounds)
		changed, polled = changes.Load()-changed, polls.Load()-polled
		if changed > polled/2 {
			t.Errorf("another context polled in %d of %d polls, want at most half", changed, polled)
		}
		c.flood.Store(false)
		err := ep.RequestShort(0, 130)
		for _, ended := range all {
			err = errors.Join(err, <-ended)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOthersPoll has a message that a parked context waits for be handled in a poll of another one: the
// wait ends without a poll of its own.
func TestOthersPoll(t *testing.T) {
	var got int
	err := narrowly(t, Config{Sleep: time.Hour}, &got, func(ep *Endpoint, c *narrow) error {
		p := &ep.progress
		var watched atomic.Pointer[Context]
		var own atomic.Int32
		c.onPoll = func() {
			if ep.poller == watched.Load() {
				own.Add(1)
			}
		}
		var both []<-chan error
		for range 2 {
			waiter := ep.NewContext()
			both = append(both, async(func() error { return waiter.WaitUntil(func() bool { return got > 0 }) }))
		}
		spinUntil(func() bool { return p.parked.Load() == 1 && p.awake.Load() == 1 || ep.job.failure() != nil })
		p.mu.Lock()
		watched.Store(p.first)
		p.mu.Unlock()
		if err := errors.Join(ep.RequestShort(0, 130), <-both[0], <-both[1]); err != nil {
			return err
		}
		if n := own.Load(); n != 0 {
			t.Errorf("the wait polled %d times for what another context's poll had brought", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWaitAllocates has a condition that lies on the stack be waited for beside a parked context.
func TestWaitAllocates(t *testing.T) {
	var got int
	err := narrowly(t, Config{}, &got, func(ep *Endpoint, c *narrow) error {
		c.flood.Store(true)
		other := ep.NewContext()
		waited := async(func() error { return other.WaitUntil(func() bool { return got > 0 }) })
		allocs := testing.AllocsPerRun(100, func() {
			looks := 0
			if err := ep.WaitUntil(func() bool { looks++; return looks > 10 }); err != nil {
				t.Error(err)
			}
		})
		if allocs >= 1 {
			t.Errorf("a wait allocates %v times", allocs)
		}
		c.flood.Store(false)
		return errors.Join(ep.RequestShort(0, 130), <-waited)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWords wants what contexts look at on cache lines of its own, apart by the pair that a processor
// fetches at once.
func TestWords(t *testing.T) {
	for i, words := 1, reflect.TypeFor[Words](); i < words.NumField(); i++ {
		if f := words.Field(i); f.Name != "_" && f.Offset%128 != 0 {
			t.Errorf("%s lies at %d", f.Name, f.Offset)
		}
	}
}
