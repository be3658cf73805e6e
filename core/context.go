package core

import "time"

// Context is one goroutine's (or C thread's) access to an endpoint: it owns what GASNet
// keeps per thread. A context is used by one goroutine at a time; it is cheap, and lives
// as long as the endpoint.
type Context struct {
	ep         *Endpoint
	op         Op
	sends      uint32
	restricted restriction
	locks      *HSL // debug mode: the locks held, newest first
	stage      negotiation
	transfer   Transfer      // the put or get that is being initiated
	atomic     Atomic        // the atomic operation that is being initiated
	collective Collective    // the collective operation that is being initiated
	silent     bool          // the present wait may end without a handler having run
	turn       chan struct{} // Many: wakes the context when it parked
	call       Call          // what the present wait is for, if that is one
	what       string        // Many: what the present or last wait is called
	since      time.Time     // and when it parked first
	next       *Context      // while it is parked: who parked after it
	looked     uint32        // and the last burst of which it knows
}

// restriction says why a context may not communicate at the moment.
type restriction uint8

const (
	inHandler restriction = 1 << iota // a handler is running on it
	prepared                          // a request is prepared and not committed
	locked                            // it holds an HSL (debug mode)
	advancing                         // it polls, and the function of OnAdvance is running
)

// NewContext returns another context on the endpoint. In Single mode contexts may only be
// used by one goroutine at a time all together; in Many mode each by its own. Until the
// first call the default context takes no locks, also in Many mode; the first call waits
// until it is not inside a poll, so handlers, conditions of waits and what else runs there
// must not make it: it panics with a UsageError. In debug mode the first call comes before any goroutine of the
// rank waits for peers: a rank whose only context waits is taken for one that can do nothing else, and ranks
// of which each lacks a call of another end the job.
func (ep *Endpoint) NewContext() *Context {
	if inPoll() {
		panic(ep.Misuse("NewContext", "called by a handler, or by what else runs while its rank polls; make contexts before"))
	}
	if ep.single {
		ep.several = true
	} else {
		ep.share()
	}
	return &Context{ep: ep, turn: make(chan struct{}, 1)}
}

// Endpoint returns the endpoint the context belongs to. A handler may call it.
func (c *Context) Endpoint() *Endpoint { return c.ep }

// Check returns nil, or the UsageError of a communicating call that the context's situation
// forbids: a handler runs on it, a request is prepared on it or, in debug mode, it holds a
// handler-safe lock. It is for layers above, whose calls, named op, are to be refused before
// they change anything. A handler may call it.
func (c *Context) Check(op string) error {
	if c.restricted == 0 {
		return nil
	}
	return c.misplaced(op)
}

// misplaced reports a call that the context's situation forbids.
func (c *Context) misplaced(op string) error {
	switch {
	case c.restricted&inHandler != 0:
		return c.ep.Misuse(op, "called from the handler of a %s from rank %d; a handler may only reply", c.ep.describe(c.ep.token.hdr), c.ep.token.src)
	case c.restricted&advancing != 0:
		return c.ep.Misuse(op, "called by an operator of a collective, where handlers run; it may only compute")
	case c.restricted&prepared != 0:
		return c.ep.Misuse(op, "a request is prepared on this context; commit it first")
	}
	return c.ep.Misuse(op, "called while holding a handler-safe lock; release it first")
}
