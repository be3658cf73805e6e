package exttest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var contextCases = []coretest.Case{{
	Name:  "context/apart",
	Rule:  "implicit operations belong to the context that initiated them; another synchronises its own only",
	Ranks: []int{1, 2}, Needs: coretest.Threads, Body: contextApart,
}, {
	Name:  "context/closed",
	Rule:  "a context is closed when nothing implicit is under way and no region is open, and leaves nothing behind",
	Ranks: []int{1, 2}, Config: lenient, Body: contextClosed,
}, {
	Name:  "context/many",
	Rule:  "goroutines with a context each may use all of one-sided communication at once",
	Ranks: []int{1, 2}, Needs: coretest.Threads, Body: contextMany,
}, {
	Name:  "context/void",
	Rule:  "a void event is an error, and a void leaf complete, while other goroutines reuse what it stood for",
	Ranks: []int{2}, Needs: coretest.Threads, Config: lenient, Body: contextVoid,
}}

func contextApart(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	a, b, next := ep.NewContext(), ep.NewContext(), t.Next()
	quiet := func(c *extended.Context, which extended.Category) bool {
		q, err := c.TestNBI(which)
		if err != nil {
			t.Errorf("%v", err)
		}
		return q
	}
	if err := errors.Join(a.PutNBI(next, 0, []byte("put"), extended.LCNow), a.GetNBI(make([]byte, 8), next, 8)); err != nil {
		return err
	}
	before := [2]bool{quiet(a, extended.Puts), quiet(a, extended.Gets)}
	if !quiet(b, extended.All) {
		t.Errorf("another context has operations that it did not initiate")
	}
	if err := b.WaitNBI(extended.All); err != nil {
		return err
	}
	if before != [2]bool{quiet(a, extended.Puts), quiet(a, extended.Gets)} {
		t.Errorf("another context's wait has waited for operations that it did not initiate")
	}
	err = a.WaitNBI(extended.All)
	if !quiet(a, extended.All) {
		t.Errorf("operations are under way after the wait for them")
	}
	return errorsOf(t, errors.Join(err, ep.Barrier()))
}

func contextClosed(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	next := t.Next()
	refused := func(what string, err error) {
		if u := new(core.UsageError); !errors.As(err, &u) {
			t.Errorf("to close %s: want a UsageError, got %v", what, err)
		}
	}
	c := ep.NewContext()
	if err := c.BeginRegion(); err != nil {
		return err
	}
	refused("a context with an open region", c.Close())
	if e, err := c.EndRegion(); err != nil || e != 0 {
		t.Errorf("the region is event %v: %v", e, err)
	}
	if err := c.GetNBI(make([]byte, 8), next, 8); err != nil {
		return err
	}
	if quiet, err := c.TestNBI(extended.All); err != nil {
		return err
	} else if !quiet {
		refused("a context with an operation under way", c.Close())
	}
	if err := errors.Join(c.WaitNBI(extended.All), c.Close()); err != nil {
		return err
	}
	refused("a context twice", c.Close())
	refused("the endpoint's context", ep.Context.Close())
	for range t.Times(50) {
		c := ep.NewContext()
		if err := errors.Join(c.PutNBI(next, 0, []byte("put"), extended.LCNow), c.WaitNBI(extended.All), c.Close()); err != nil {
			return err
		}
	}
	return errorsOf(t, ep.Barrier())
}

func contextMany(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	const goroutines, counter = 4, 1 << 19
	ctr, err := extended.NewAtomic[uint64](&ep.Context, ep.World(), extended.FAdd|extended.Add|extended.Get)
	if err != nil {
		return err
	}
	rounds := t.Times(40)
	done := make(chan error, goroutines)
	for g := range goroutines {
		go func(c *extended.Context) {
			var err error
			for i := 0; i < rounds && err == nil; i++ {
				err = everything(t, c, ctr, uint64(g)<<16, counter, uint64(i))
			}
			done <- err
		}(ep.NewContext())
	}
	for range goroutines {
		err = errors.Join(err, <-done)
	}
	if err := errors.Join(err, ep.Barrier()); err != nil {
		return err
	}
	n, err := ctr.Get(&ep.Context, int(t.Next()), counter)
	if want := uint64(4 * goroutines * rounds); n != want {
		t.Errorf("%d were added, not %d", n, want)
	}
	return errorsOf(t, errors.Join(err, ep.Barrier()))
}

// everything does one of each on 64 KB at off of the next rank, and adds 4 to its counter.
func everything(t *coretest.T, c *extended.Context, ctr *extended.Atomic[uint64], off, counter, seed uint64) error {
	next := t.Next()
	const part = 6000 // a Long, and a get in several messages or by a Long
	in, out := fill(make([]byte, 4*part), off|seed), make([]byte, 4*part)
	ev, err := c.PutNB(next, off+part, in[part:][:part], extended.LCDefer)
	err = errors.Join(err, c.Put(next, off, in[:part]), c.PutNBI(next, off+2*part, in[2*part:][:part], extended.LCLeaf), c.BeginRegion())
	err = errors.Join(err, c.PutNBI(next, off+3*part, in[3*part:], extended.LCDefer), c.PutValueNBI(next, off+4*part, seed, 8),
		ctr.DoNBI(c, nil, int(next), counter, extended.Add, 1, 0))
	region, err1 := c.EndRegion()
	var was [2]uint64
	added, err2 := ctr.DoNB(c, &was[0], int(next), counter, extended.FAdd, 1, 0)
	err = errors.Join(err, err1, err2, ctr.DoNBI(c, &was[1], int(next), counter, extended.FAdd, 1, 0), c.WaitNBI(extended.LCs))
	if err = errors.Join(err, c.WaitAll([]extended.Event{ev, region, added}), c.WaitNBI(extended.All)); err != nil {
		return err
	}
	if was[0] == was[1] {
		return fmt.Errorf("two fetch-adds return %d", was[0])
	}
	ev, err = c.GetNB(out[:part], next, off)
	value, err1 := c.GetValueNB(next, off+4*part, 8)
	err = errors.Join(err, err1, c.GetNBI(out[part:][:2*part], next, off+part), c.Get(out[3*part:], next, off+3*part),
		ctr.Add(c, int(next), counter, 1), c.WaitNBI(extended.Gets), c.Wait(ev))
	if err != nil {
		return err
	}
	if v, err := c.WaitValue(value); err != nil || v != seed || !bytes.Equal(in, out) {
		return fmt.Errorf("what was put does not come back: %d for %d, %w", v, seed, err)
	}
	return nil
}

func contextVoid(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	src := make([]byte, 100000)
	ev, err := c.PutNB(next, 0, src, extended.LCLeaf)
	if err != nil || ev == 0 { // 0 where the segment is reached
		return errors.Join(err, ep.Barrier())
	}
	if err := c.Wait(ev); err != nil {
		return err
	}
	void, leaf := ev, ev|1<<31
	stop, done := make(chan struct{}), make(chan error)
	go func(other *extended.Context) {
		for n := 0; ; n++ {
			if err := other.Wait(leaf); err != nil {
				done <- fmt.Errorf("the void leaf: %w", err)
				return
			}
			if ok, err := other.Test(void); ok || err == nil || ep.Leaf(void) != 0 {
				done <- fmt.Errorf("the void event was accepted: %v, %v", ok, err)
				return
			}
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
		}
	}(ep.NewContext())
	for range t.Times(200) {
		if ev, err = c.PutNB(next, 0, src[:5000], extended.LCLeaf); err == nil {
			err = c.Wait(ev)
		}
		if err != nil {
			break
		}
	}
	close(stop)
	return errorsOf(t, errors.Join(err, <-done, ep.Barrier()))
}
