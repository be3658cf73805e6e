package extended

import "sync/atomic"

// Event stands for an operation that has been initiated. It is a plain word that may be
// copied and stored; 0 is an operation that is complete already, and is accepted
// everywhere. Each other event must be synchronised once, by a Wait or by a Test that
// succeeds, in any goroutine; after that its copies are void, and using one is an error
// (until 2³¹ later operations that got the same number have brought its generation round).
//
// A leaf event (see Leaf) tells of local completion only and need not be synchronised.
type Event uint64

// An event holds the operation's generation (32 bits), whether it is the leaf (1) and
// the operation's number plus one (31).
const leafBit = 1 << 31

func eventOf(op *operation) Event {
	return Event(atomic.LoadUint32(&op.generation))<<32 | Event(op.number+1)
}

// current reports whether the operation, which others may recycle at any time, is still the
// one that an event was made for.
func (op *operation) current(ev Event) bool {
	g := atomic.LoadUint32(&op.generation)
	return g&1 != 0 && g == uint32(ev>>32)
}

// find returns the operation that an event stands for; nil if it is complete because it is
// 0 or the leaf of an operation that was synchronised. An event that was synchronised
// before is an error.
func (ep *Endpoint) find(call string, ev Event) (*operation, error) {
	if ev == 0 {
		return nil, nil
	}
	op := ep.ops.at(uint32(ev)&^leafBit - 1)
	switch {
	case op != nil && op.current(ev):
		return op, nil
	case ev&leafBit != 0:
		return nil, nil
	}
	return nil, ep.misuse(call, "event %#x is void: it was synchronised before, or never made", uint64(ev))
}

// done reports whether the event's operation is complete, or for a leaf locally complete,
// which it is too once the operation was synchronised.
func (ev Event) done(op *operation) bool {
	if ev&leafBit == 0 {
		return op.done()
	}
	return op.local.Pending() == 0 || !op.current(ev)
}

// retire recycles the operation of an event that is done.
func (ep *Endpoint) retire(op *operation, ev Event) {
	if ev&leafBit == 0 {
		ep.ops.release(op)
	}
}

// Leaf returns the local completion of the operation that ev stands for, or 0 if its
// source may be reused already (gex_Event_QueryLeaf with GEX_EC_LC). Valid for events of
// puts initiated with LCLeaf; every call returns the same event or 0.
func (ep *Endpoint) Leaf(ev Event) Event {
	op, err := ep.find("Leaf", ev)
	if op == nil || err != nil || op.local.Pending() == 0 {
		return 0
	}
	return ev | leafBit
}

// Test synchronises ev if it is complete and reports whether it was. It does not poll:
// a loop of tests needs a Poll. Not allowed in a handler.
func (c *Context) Test(ev Event) (bool, error) {
	if err := c.Check("Test"); err != nil || ev == 0 {
		return err == nil, err
	}
	op, err := c.ep.find("Test", ev)
	if op == nil {
		return err == nil, err
	}
	if !ev.done(op) {
		return false, nil
	}
	c.ep.retire(op, ev)
	return true, nil
}

// Wait polls until ev is complete and synchronises it. Not allowed in a handler.
func (c *Context) Wait(ev Event) error {
	if err := c.Check("Wait"); err != nil || ev == 0 {
		return err
	}
	op, err := c.ep.find("Wait", ev)
	if op == nil {
		return err
	}
	if err := c.awaitEvent(op, ev); err != nil {
		return err
	}
	c.ep.retire(op, ev)
	return nil
}

// awaitEvent waits until an event is complete.
func (c *Context) awaitEvent(op *operation, ev Event) error {
	if ev&leafBit != 0 {
		return c.WaitSilent(func() bool { return ev.done(op) })
	}
	return c.await(op)
}

// TestAll synchronises all events of the list if all are complete, sets the entries to 0
// and reports true; else it synchronises none. Entries that are 0 are ignored. It does not
// poll. Not allowed in a handler.
func (c *Context) TestAll(evs []Event) (bool, error) {
	if err := c.Check("TestAll"); err != nil {
		return false, err
	}
	for _, ev := range evs {
		if op, err := c.ep.find("TestAll", ev); err != nil {
			return false, err
		} else if op != nil && !ev.done(op) {
			return false, nil
		}
	}
	return true, c.retireAll("TestAll", evs)
}

// WaitAll polls until all events of the list are complete, synchronises them and sets the
// entries to 0. Not allowed in a handler.
func (c *Context) WaitAll(evs []Event) error {
	if err := c.Check("WaitAll"); err != nil {
		return err
	}
	for _, ev := range evs {
		op, err := c.ep.find("WaitAll", ev)
		if err != nil {
			return err
		}
		if op == nil || ev.done(op) {
			continue
		}
		if err := c.awaitEvent(op, ev); err != nil {
			return err
		}
	}
	return c.retireAll("WaitAll", evs)
}

// retireAll recycles the operations of events that are all done.
func (c *Context) retireAll(call string, evs []Event) error {
	for i, ev := range evs {
		op, err := c.ep.find(call, ev)
		if err != nil {
			return err // the same event twice
		}
		if op != nil {
			c.ep.retire(op, ev)
		}
		evs[i] = 0
	}
	return nil
}

// TestSome synchronises those events of the list that are complete, sets their entries to
// 0 and reports whether there was one, or nothing to test. It does not poll. Not allowed in
// a handler.
func (c *Context) TestSome(evs []Event) (bool, error) {
	if err := c.Check("TestSome"); err != nil {
		return false, err
	}
	return c.retireSome("TestSome", evs)
}

func (c *Context) retireSome(call string, evs []Event) (bool, error) {
	some, left := false, false
	for i, ev := range evs {
		op, err := c.ep.find(call, ev)
		switch {
		case err != nil:
			return some, err
		case op == nil:
			evs[i] = 0
			some = some || ev != 0
		case ev.done(op):
			c.ep.retire(op, ev)
			evs[i], some = 0, true
		default:
			left = true
		}
	}
	return some || !left, nil
}

// WaitSome polls until at least one event of the list is complete, unless there is none to
// wait for, and then does as TestSome. Not allowed in a handler.
func (c *Context) WaitSome(evs []Event) error {
	var failed error
	if err := c.Check("WaitSome"); err != nil {
		return err
	}
	err := c.WaitSilent(func() bool {
		var ready bool
		ready, failed = c.retireSome("WaitSome", evs)
		return ready || failed != nil
	})
	if failed != nil {
		return failed
	}
	return err
}
