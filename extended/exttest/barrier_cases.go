package exttest

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var barrierCases = []coretest.Case{{
	Name:  "barrier/rounds",
	Rule:  "nobody leaves a barrier before all have entered it",
	Ranks: []int{1, 2, 3, 4, 7}, Body: barrierRounds,
}, {
	Name:  "barrier/names",
	Rule:  "two names anywhere mismatch on all members; anonymous matches any; a forced mismatch is one (GASNet 1.8, releases since 1.20)",
	Ranks: []int{1, 2, 3, 4}, Body: barrierNames,
}, {
	Name:  "barrier/end",
	Rule:  "the name at the end is compared with the one notified or, after an anonymous notify, with the one agreed upon",
	Ranks: []int{1, 3}, Body: barrierEnd,
}, {
	Name:  "barrier/try",
	Rule:  "a try does nothing until all have notified, and then ends the barrier",
	Ranks: []int{2, 3}, Body: barrierTry,
}, {
	Name:  "barrier/late",
	Rule:  "a barrier goes on while a member that has notified waits for something else",
	Ranks: []int{5}, Body: barrierLate,
}, {
	Name:  "barrier/events",
	Rule:  "many barriers with events may be under way (gex_Coll_BarrierNB)",
	Ranks: []int{1, 2, 5}, Body: barrierEvents,
}, {
	Name:  "barrier/misuse",
	Rule:  "notify twice, and wait without notify, are errors",
	Ranks: []int{1, 2}, Config: lenient, Body: barrierMisuse,
}}

func barrierRounds(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	seg := ep.Segment()
	for round := range t.Times(300) {
		mark := byte(round)
		if err := ep.Put(t.Next(), uint64(round%64), []byte{mark}); err != nil {
			return err
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
		if seg[round%64] != mark {
			t.Errorf("round %d: the neighbour's put is not there", round)
			return t.Err()
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
	}
	return t.Err()
}

// naming is what one member gives.
type naming struct {
	id    int32
	flags extended.BarrierFlags
}

func barrierNames(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for round := range t.Times(200) {
		// Every member draws what all give, from the same numbers.
		all := make([]naming, t.Size())
		var want naming // agreed
		want.flags = extended.Anonymous
		bad := false
		x := uint32(round)*2654435761 + 12345
		for i := range all {
			x = x*1664525 + 1013904223
			switch all[i].id = int32(round); x >> 28 {
			case 0:
				all[i].flags = extended.Mismatch
			case 1:
				all[i].id = int32(-round - 1)
			case 2, 3, 4, 5, 6, 7:
				all[i].flags = extended.Anonymous
			}
			n := all[i]
			switch {
			case n.flags&extended.Mismatch != 0:
				bad = true
			case n.flags&extended.Anonymous != 0:
			case want.flags&extended.Anonymous != 0:
				want = n
			case want.id != n.id:
				bad = true
			}
		}
		mine := all[t.Rank()]
		if err := w.Notify(c, mine.id, mine.flags); err != nil {
			return err
		}
		err := w.WaitBarrier(c, mine.id, mine.flags)
		if errors.Is(err, extended.ErrMismatch) != bad || err != nil && !bad {
			t.Errorf("round %d: names %v: %v", round, all, err)
			return t.Err()
		}
		id, named := w.BarrierResult()
		if named != (!bad && want.flags == 0) || named && id != want.id {
			t.Errorf("round %d: names %v: result %d, %v", round, all, id, named)
			return t.Err()
		}
	}
	return t.Err()
}

func barrierEnd(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for _, x := range []struct {
		notify, other, end naming
		bad                bool
	}{
		{naming{5, 0}, naming{5, 0}, naming{5, 0}, false},
		{naming{5, 0}, naming{5, 0}, naming{6, 0}, true},
		{naming{5, 0}, naming{5, 0}, naming{6, extended.Anonymous}, false},
		{naming{0, extended.Anonymous}, naming{0, extended.Anonymous}, naming{7, 0}, false},
		{naming{0, extended.Anonymous}, naming{9, 0}, naming{9, 0}, false},
		{naming{0, extended.Anonymous}, naming{9, 0}, naming{8, 0}, t.Size() > 1},
	} {
		mine, end := x.notify, x.end
		if t.Rank() != 0 {
			mine, end = x.other, x.other
		}
		if err := w.Notify(c, mine.id, mine.flags); err != nil {
			return err
		}
		err := w.WaitBarrier(c, end.id, end.flags)
		if want := x.bad && t.Rank() == 0; errors.Is(err, extended.ErrMismatch) != want {
			t.Errorf("%+v: %v", x, err)
		}
	}
	return t.Err()
}

func barrierTry(t *coretest.T) error {
	var told int
	ep, err := attach(t, func(*coretestToken, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for round := range t.Times(50) {
		if t.Rank() == 0 { // comes last, when told that the others have tried
			if err := t.Wait(ep.Context.Context, func() bool { return told >= (round+1)*(t.Size()-1) }); err != nil {
				return err
			}
		}
		if err := w.Notify(c, 0, extended.Anonymous); err != nil {
			return err
		}
		if t.Rank() != 0 {
			if ok, err := w.TryBarrier(c, 0, extended.Anonymous); ok || err != nil {
				t.Errorf("round %d: ended before rank 0 came: %v", round, err)
			}
			if err := ep.RequestShort(0, 128); err != nil {
				return err
			}
		}
		for {
			ok, err := w.TryBarrier(c, 0, extended.Anonymous)
			if err != nil {
				return err
			}
			if ok {
				break
			}
			if err := yield(t, ep); err != nil {
				return err
			}
		}
	}
	return t.Err()
}

// barrierLate has member 0 notify and then wait for a message that a member sends once it is
// past the barrier.
func barrierLate(t *coretest.T) error {
	var told int
	ep, err := attach(t, func(*coretestToken, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for round := range t.Times(50) {
		if err := w.Notify(c, 1, 0); err != nil {
			return err
		}
		if t.Rank() == 0 {
			if err := t.Wait(ep.Context.Context, func() bool { return told > round }); err != nil {
				return err
			}
		}
		if err := w.WaitBarrier(c, 1, 0); err != nil {
			return err
		}
		if int(t.Rank()) == t.Size()-1 {
			if err := ep.RequestShort(0, 128); err != nil {
				return err
			}
		}
	}
	return t.Err()
}

func barrierEvents(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for range t.Times(20) {
		evs := make([]extended.Event, 40)
		for i := range evs {
			if evs[i], err = w.BarrierNB(c); err != nil {
				return err
			}
		}
		for len(evs) > 0 { // in any order
			i := (len(evs)*7 + 3) % len(evs)
			if err := ep.Wait(evs[i]); err != nil {
				return err
			}
			evs = append(evs[:i], evs[i+1:]...)
		}
	}
	return t.Err()
}

func barrierMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	if err := w.WaitBarrier(c, 0, 0); err == nil {
		t.Errorf("wait without notify")
	}
	if _, err := w.TryBarrier(c, 0, 0); err == nil {
		t.Errorf("try without notify")
	}
	if err := w.Notify(c, 0, 0); err != nil {
		return err
	}
	if err := w.Notify(c, 0, 0); err == nil {
		t.Errorf("notify twice")
	}
	return errorsOf(t, w.WaitBarrier(c, 0, 0))
}
