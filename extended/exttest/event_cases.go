package exttest

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var eventCases = []coretest.Case{{
	Name:  "event/sync",
	Rule:  "tests and waits for one, some and all synchronise what is complete and set those entries to 0; a test that fails synchronises nothing",
	Ranks: []int{1, 2, 3}, Body: eventSync,
}, {
	Name:  "event/many",
	Rule:  "at least 65,535 operations, explicit and implicit, may be under way (GASNet 1.8)",
	Ranks: []int{2}, Body: eventMany,
}, {
	Name:  "event/none",
	Rule:  "the event 0 and empty lists are complete",
	Ranks: []int{1}, Body: eventNone,
}, {
	Name:  "event/misuse",
	Rule:  "an event that was synchronised before, or never made, is an error",
	Ranks: []int{1, 2}, Config: lenient, Body: eventMisuse,
}, {
	Name:  "event/leaf",
	Rule:  "a leaf is the same event at every query, and void leaves are complete (GASNet-EX)",
	Ranks: []int{2}, Body: eventLeaf,
}, {
	Name:  "region/apart",
	Rule:  "an access region's event covers the implicit operations in it, and only that does",
	Ranks: []int{1, 2}, Body: regionApart,
}, {
	Name:  "region/misuse",
	Rule:  "regions do not nest, and implicit operations are not synchronised within one, nor are categories that there are not",
	Ranks: []int{1, 2}, Config: lenient, Body: regionMisuse,
}, {
	Name:  "event/elsewhere",
	Rule:  "any goroutine may synchronise an event (GASNet-EX)",
	Ranks: []int{2}, Needs: coretest.Threads, Body: eventElsewhere,
}}

// outstanding initiates n puts and gets of 8 bytes, which may be under way on return; check
// tells whether they have all been done.
func outstanding(t *coretest.T, c *extended.Context, n int) (evs []extended.Event, check func() error, err error) {
	next := t.Next()
	in, out := fill(make([]byte, 8*n), uint64(n)), make([]byte, 8*n)
	if err := c.Put(next, 0, in); err != nil { // what the gets bring
		return nil, nil, err
	}
	for i := range n {
		var ev extended.Event
		if i%2 == 0 {
			ev, err = c.GetNB(out[8*i:][:8], next, 8*uint64(i))
		} else {
			ev, err = c.PutNB(next, uint64(8*n+8*i), in[8*i:][:8], extended.LCDefer)
		}
		if err != nil {
			return nil, nil, err
		}
		evs = append(evs, ev)
	}
	return evs, func() error {
		there := make([]byte, 8*n)
		if err := c.Get(there, next, 8*uint64(n)); err != nil {
			return err
		}
		for i := range n {
			got := out
			if i%2 != 0 {
				got = there
			}
			if !bytes.Equal(got[8*i:][:8], in[8*i:][:8]) {
				t.Errorf("operation %d of %d was synchronised and not done", i, n)
				return t.Err()
			}
		}
		return nil
	}, nil
}

func eventSync(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	const n = 50
	// Each is one way to synchronise all of evs.
	ways := map[string]func(evs []extended.Event) error{
		"Wait": func(evs []extended.Event) error {
			for i, ev := range evs {
				if err := c.Wait(ev); err != nil {
					return err
				}
				evs[i] = 0
			}
			return nil
		},
		"Test": func(evs []extended.Event) error {
			for i := range evs {
				for done := false; !done; {
					if done, err = c.Test(evs[i]); err == nil && !done {
						err = errors.Join(c.Poll(), yield(t, ep))
					}
					if err != nil {
						return err
					}
				}
				evs[i] = 0
			}
			return nil
		},
		"WaitAll": c.WaitAll,
		"TestAll": func(evs []extended.Event) error {
			for {
				before := slices.Clone(evs)
				done, err := c.TestAll(evs)
				if done || err != nil {
					return err
				}
				if !slices.Equal(evs, before) {
					t.Errorf("a test that failed changed the list")
				}
				if err := errors.Join(c.Poll(), yield(t, ep), t.Err()); err != nil {
					return err
				}
			}
		},
		"WaitSome": func(evs []extended.Event) error {
			for slices.ContainsFunc(evs, pending) {
				before := count(evs)
				if err := c.WaitSome(evs); err != nil {
					return err
				}
				if count(evs) >= before {
					t.Errorf("WaitSome synchronised nothing of %d", before)
					return t.Err()
				}
			}
			return nil
		},
		"TestSome": func(evs []extended.Event) error {
			for slices.ContainsFunc(evs, pending) {
				before := count(evs)
				some, err := c.TestSome(evs)
				if some != (count(evs) < before) {
					t.Errorf("TestSome says %v; %d events became %d", some, before, count(evs))
				}
				if err := errors.Join(err, c.Poll(), yield(t, ep), t.Err()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for _, name := range slices.Sorted(maps.Keys(ways)) { // the order counts under a model
		way := ways[name]
		for range t.Times(8) {
			evs, check, err := outstanding(t, c, n)
			if err != nil {
				return err
			}
			if err := errors.Join(way(evs), check()); err != nil {
				return err
			}
			if slices.ContainsFunc(evs, pending) {
				t.Errorf("%s leaves %v", name, evs)
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

func pending(ev extended.Event) bool { return ev != 0 }

// count returns how many events of the list are not 0.
func count(evs []extended.Event) (n int) {
	for _, ev := range evs {
		if pending(ev) {
			n++
		}
	}
	return n
}

func eventMany(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	n := min(65535, t.Times(65535)) // explicit, and as many implicit; fewer under the race detector
	half := 8 * uint64(n)
	evs := make([]extended.Event, n)
	out, again := make([]byte, 8*n), make([]byte, 8*n)
	for i := range n {
		off := 8 * uint64(i)
		if evs[i], err = c.PutNB(next, off, put64(uint64(i)), extended.LCNow); err != nil {
			return err
		}
		if err := c.PutValueNBI(next, half+off, uint64(i), 4); err != nil {
			return err
		}
	}
	if err := errors.Join(c.WaitAll(evs), c.WaitNBI(extended.Puts)); err != nil {
		return err
	}
	for i := range n {
		off := 8 * uint64(i)
		if evs[i], err = c.GetNB(out[off:][:8], next, off); err != nil {
			return err
		}
		if err := c.GetNBI(again[off:][:4], next, half+off); err != nil {
			return err
		}
	}
	if err := errors.Join(c.WaitNBI(extended.Gets), c.WaitAll(evs)); err != nil {
		return err
	}
	for i := range n {
		if get64(out[8*i:]) != uint64(i) || !bytes.Equal(again[8*i:][:4], low(uint64(i), 4)) {
			t.Errorf("operation %d brings %x and %x", i, out[8*i:][:8], again[8*i:][:4])
			break
		}
	}
	return errorsOf(t, ep.Barrier())
}

func eventNone(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	for _, evs := range [][]extended.Event{nil, {}, {0}, {0, 0, 0}} {
		all, err1 := c.TestAll(evs)
		some, err2 := c.TestSome(evs)
		if !all || !some {
			t.Errorf("%v: TestAll %v, TestSome %v", evs, all, some)
		}
		if err := errors.Join(err1, err2, c.WaitAll(evs), c.WaitSome(evs)); err != nil {
			return err
		}
	}
	done, err := c.Test(0)
	quiet, err1 := c.TestNBI(extended.All)
	if !done || !quiet || ep.Leaf(0) != 0 {
		t.Errorf("Test %v, TestNBI %v, Leaf %v", done, quiet, ep.Leaf(0))
	}
	return errorsOf(t, errors.Join(err, err1, c.Wait(0), c.WaitNBI(extended.All)))
}

func eventMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	evs, check, err := outstanding(t, c, 8)
	if err != nil {
		return err
	}
	void := slices.DeleteFunc(slices.Clone(evs), func(ev extended.Event) bool { return ev == 0 })
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	for i, ev := range append(void, 1<<40|77, 1<<31-1) {
		_, err1 := c.Test(ev)
		_, err2 := c.TestAll([]extended.Event{0, ev})
		_, err3 := c.TestSome([]extended.Event{ev})
		for j, err := range []error{c.Wait(ev), c.WaitAll([]extended.Event{ev}), c.WaitSome([]extended.Event{ev, 0}), err1, err2, err3} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("void event %d was accepted by call %d: %v", i, j, err)
			}
		}
	}
	return errorsOf(t, errors.Join(check(), ep.Barrier()))
}

func eventLeaf(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	src := fill(make([]byte, 300000), 1)
	for range t.Times(20) {
		ev, err := c.PutNB(next, 0, src, extended.LCLeaf)
		if err != nil {
			return err
		}
		leaf := ep.Leaf(ev)
		if again := ep.Leaf(ev); again != leaf && again != 0 {
			t.Errorf("the leaf is %#x and then %#x", leaf, again)
		}
		if err := errors.Join(c.Wait(leaf), c.Wait(leaf)); err != nil { // once or more often
			return err
		}
		if l := ep.Leaf(ev); l != 0 {
			t.Errorf("the leaf is %#x after a wait for it", l)
		}
		if err := errors.Join(c.Wait(ev), c.Wait(leaf)); err != nil { // also behind its root
			return err
		}
	}
	return errorsOf(t, ep.Barrier())
}

func regionApart(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	in, out := fill(make([]byte, 20000), 1), make([]byte, 20000)
	for range t.Times(20) {
		clear(out)
		if err := c.PutNBI(next, 0, in, extended.LCDefer); err != nil {
			return err
		}
		if err := c.BeginRegion(); err != nil {
			return err
		}
		err1 := c.PutNBI(next, 32768, in, extended.LCDefer)
		err2 := c.PutValueNBI(next, 65536, 7, 1)
		single, err3 := c.PutNB(next, 65544, in[:1], extended.LCNow) // not of the region
		ev, err4 := c.EndRegion()
		if err := errors.Join(err1, err2, err3, err4, c.WaitNBI(extended.All), c.Wait(ev), c.Wait(single)); err != nil {
			return err
		}
		if err := c.BeginRegion(); err != nil {
			return err
		}
		err1 = c.GetNBI(out[:10000], next, 0)
		err2 = c.GetNBI(out[10000:], next, 32768+10000)
		ev, err3 = c.EndRegion()
		if err := errors.Join(err1, err2, err3, c.Wait(ev)); err != nil {
			return err
		}
		v, err := c.GetValue(next, 65536, 1)
		if err != nil {
			return err
		}
		if !bytes.Equal(in, out) || v != 7 {
			t.Errorf("a region's operations were synchronised and not done")
			return t.Err()
		}
		if err := c.BeginRegion(); err != nil {
			return err
		}
		if ev, err := c.EndRegion(); ev != 0 || err != nil {
			t.Errorf("an empty region has the event %#x, %v", ev, err)
		}
	}
	return errorsOf(t, ep.Barrier())
}

func regionMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	for _, which := range []extended.Category{0, 255, extended.All + 1} {
		_, err := c.TestNBI(which)
		for i, err := range []error{err, c.WaitNBI(which)} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("categories %d were accepted by call %d: %v", which, i, err)
			}
		}
	}
	_, err1 := c.EndRegion()
	if err := c.BeginRegion(); err != nil {
		return err
	}
	_, err2 := c.TestNBI(extended.All)
	for i, err := range []error{err1, err2, c.WaitNBI(extended.All), c.BeginRegion()} {
		if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("misuse %d was accepted: %v", i, err)
		}
	}
	err = c.PutNBI(t.Next(), 0, []byte{1}, extended.LCNow) // the region is still good
	ev, err2 := c.EndRegion()
	return errorsOf(t, errors.Join(err, err2, c.Wait(ev), ep.Barrier()))
}

func eventElsewhere(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	for range t.Times(50) {
		evs, check, err := outstanding(t, c, 20)
		if err != nil {
			return err
		}
		done := make(chan error)
		for _, half := range [][]extended.Event{evs[:10], evs[10:]} {
			go func(other *extended.Context) { done <- other.WaitAll(half) }(ep.NewContext())
		}
		if err := errors.Join(<-done, <-done, check()); err != nil {
			return err
		}
	}
	return errorsOf(t, ep.Barrier())
}
