package exttest_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// late is the loopback conduit, but that it tells of local completion after many polls, long
// after the answer has come.
type late struct {
	core.Conduit
	held  []*core.Completion // of payloads in use
	polls int                // since the first of them
}

// latePolls is how many polls a payload stays in use.
const latePolls = 200

// lent counts the payloads in use of all ranks.
var lent atomic.Int64

func init() {
	core.Register(core.Driver{
		Name: "late", Summary: "loopback with late local completion",
		New: func(profile string) core.Conduit {
			d, err := core.DriverByName("loopback")
			if err != nil {
				panic(err)
			}
			return &late{Conduit: d.New(profile)}
		},
	})
}

// Commit lends the payload to the conduit below with a completion of its own.
func (l *late) Commit(op *core.Op) {
	if op.LC != nil {
		l.held = append(l.held, op.LC)
		lent.Add(1)
		op.LC = new(core.Completion)
	}
	l.Conduit.Commit(op)
}

func (l *late) Poll(budget int) int {
	if len(l.held) > 0 {
		l.polls++
	}
	if l.polls > latePolls {
		for _, lc := range l.held {
			lent.Add(-1)
			lc.Complete()
		}
		l.held, l.polls = nil, 0
	}
	return l.Conduit.Poll(budget)
}

// idle is the index of a handler that does nothing.
const idle = core.ClientHandlers

// onLate runs f on rank 0 of a job of two over the late conduit.
func onLate(t *testing.T, f func(c *extended.Context) error) {
	t.Helper()
	// A rank that slept would not poll.
	cfg := core.Config{Conduit: "late", Threads: core.Single, Sleep: time.Minute}
	if err := core.RunGoroutines(2, cfg, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
			{Index: idle, Func: func(*core.Token, []uint32, []byte) {}},
		}})
		if err == nil && job.Rank() == 0 {
			err = f(&ep.Context)
		}
		if err != nil {
			return err
		}
		return ep.Barrier()
	}); err != nil {
		t.Error(err)
	}
}

// TestLatePayload synchronises puts in every way: none is complete while its payload is in
// use.
func TestLatePayload(t *testing.T) {
	src := make([]byte, 20000)
	for name, put := range map[string]func(c *extended.Context, lc extended.LocalCompletion) error{
		"Put": func(c *extended.Context, _ extended.LocalCompletion) error { return c.Put(1, 0, src) },
		"PutVector": func(c *extended.Context, _ extended.LocalCompletion) error {
			return c.PutVector(1, []extended.Extent{{Len: len(src)}}, src, []extended.Extent{{Len: len(src)}})
		},
		"Wait": func(c *extended.Context, lc extended.LocalCompletion) error {
			ev, err := c.PutNB(1, 0, src, lc)
			return errors.Join(err, c.Wait(ev))
		},
		"WaitAll": func(c *extended.Context, lc extended.LocalCompletion) error {
			ev, err := c.PutNB(1, 0, src, lc)
			return errors.Join(err, c.WaitAll([]extended.Event{ev}))
		},
		"Test": func(c *extended.Context, lc extended.LocalCompletion) error {
			ev, err := c.PutNB(1, 0, src, lc)
			for done := false; err == nil && !done; {
				if done, err = c.Test(ev); !done {
					err = errors.Join(err, c.Poll())
				}
			}
			return err
		},
		"WaitNBI": func(c *extended.Context, lc extended.LocalCompletion) error {
			return errors.Join(c.PutNBI(1, 0, src, lc), c.WaitNBI(extended.Puts))
		},
		"EndRegion": func(c *extended.Context, lc extended.LocalCompletion) error {
			err := errors.Join(c.BeginRegion(), c.PutNBI(1, 0, src, lc))
			ev, err2 := c.EndRegion()
			return errors.Join(err, err2, c.Wait(ev))
		},
	} {
		for _, lc := range []extended.LocalCompletion{extended.LCDefer, extended.LCLeaf} {
			t.Run(fmt.Sprintf("%s/%d", name, lc), func(t *testing.T) {
				onLate(t, func(c *extended.Context) error {
					err := put(c, lc)
					if n := lent.Load(); err == nil && n > 0 {
						t.Errorf("complete with %d payloads in use", n)
						err = c.WaitSilent(func() bool { return lent.Load() == 0 })
					}
					return err
				})
			})
		}
	}
}

// TestLateCategory: the payloads of puts with LCDefer belong to the puts, those with LCLeaf to
// local completion.
func TestLateCategory(t *testing.T) {
	onLate(t, func(c *extended.Context) error {
		src := make([]byte, 20000)
		check := func(lc extended.LocalCompletion, wantPuts, wantLCs bool) error {
			puts, err1 := c.TestNBI(extended.Puts)
			lcs, err2 := c.TestNBI(extended.LCs)
			if puts != wantPuts || lcs != wantLCs {
				t.Errorf("local completion %d: puts complete %v, want %v; payloads complete %v, want %v", lc, puts, wantPuts, lcs, wantLCs)
			}
			return errors.Join(err1, err2)
		}
		err := errors.Join(c.PutNBI(1, 0, src, extended.LCDefer), check(extended.LCDefer, false, true))
		err = errors.Join(err, c.WaitNBI(extended.LCs), check(extended.LCDefer, false, true)) // it does not even poll
		err = errors.Join(err, c.WaitNBI(extended.Puts), check(extended.LCDefer, true, true))
		err = errors.Join(err, c.PutNBI(1, 0, src, extended.LCLeaf), check(extended.LCLeaf, false, false))
		return errors.Join(err, c.WaitNBI(extended.LCs), c.WaitNBI(extended.Puts), check(extended.LCLeaf, true, true))
	})
}

// TestRefusedRecycled has many calls refused: none keeps an operation, so that the next one
// gets the number that was free before.
func TestRefusedRecycled(t *testing.T) {
	onLate(t, func(c *extended.Context) error {
		buf := make([]byte, 8)
		number := func() uint32 {
			ev, err := c.GetNB(buf, 1, 0)
			if err := errors.Join(err, c.Wait(ev)); err != nil || ev == 0 {
				t.Errorf("GetNB: event %#x, %v", ev, err)
			}
			return uint32(ev)
		}
		before := number()
		if _, err := c.Prepare(1, core.Offer{Kind: core.Medium, Least: 8, Most: 8}); err != nil {
			return err
		}
		_, err1 := c.PutNB(1, 0, buf, extended.LCNow)
		_, err2 := c.GetNB(buf, 1, 0)
		_, err3 := c.GetValue(1, 0, 8)
		_, err4 := c.Endpoint().World().BarrierNB(c)
		for i, err := range []error{err1, err2, err3, err4, c.Put(1, 0, buf), c.Get(buf, 1, 0), c.GetNBI(buf, 1, 0), c.Memset(1, 0, 1, 8), c.BeginRegion()} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("call %d was accepted: %v", i, err)
			}
		}
		if err := c.Commit(idle, 8); err != nil {
			return err
		}
		if after := number(); after != before {
			t.Errorf("the next operation is %#x, not %#x", after, before)
		}
		return nil
	})
}
