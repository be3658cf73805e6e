package core

import (
	"sync"
	"time"
)

// Context is one goroutine's (or C thread's) access to an endpoint: it owns what GASNet
// keeps per thread. A context is used by one goroutine at a time; it is cheap, and lives until it is
// closed, or as long as the endpoint.
type Context struct {
	ep         *Endpoint
	op         Op
	sends      uint32
	restricted restriction
	locks      *held // debug mode: the locks held, newest first
	stage      negotiation
	transfer   Transfer      // the put or get that is being initiated
	atomic     Atomic        // the atomic operation that is being initiated
	collective Collective    // the collective operation that is being initiated
	silent     bool          // the present wait may end without a handler having run
	turn       chan struct{} // Many: wakes the context when it parked
	call       Call          // what the present wait is for, if that is one
	peers      bool          // the present wait is for an answer of
	peer       Rank          // this one
	what       string        // Many: what the present or last wait is called
	since      time.Time     // and when it parked first
	next       *Context      // while it is parked: who parked after it
	looked     uint32        // and the last burst of which it knows
	watched    watchedWaits  // what is recorded of its waits
}

// restriction says why a context may not communicate at the moment.
type restriction uint8

const (
	inHandler restriction = 1 << iota // a handler is running on it
	prepared                          // a request is prepared and not committed
	locked                            // it holds an HSL (debug mode)
	advancing                         // it polls, and the function of OnAdvance is running
	closed                            // it was closed
)

// NewContext returns another context on the endpoint. In Many mode each context may be used by a goroutine
// of its own, in Single mode all contexts together by one goroutine at a time. A context that was closed is
// used again, so a thread that comes and goes pays a lock for its context. A handler may call NewContext, and so
// may whatever else runs while the rank polls, but none of them may use the new context.
//
// Until the first call the default context takes no locks, also in Many mode. The first use of another
// context waits until the default context has left the poll that it is in.
//
// In debug mode the first call must come before any goroutine of the rank waits for peers: a rank whose only
// context waits is taken for one that can do nothing else, and ranks of which each lacks a call of another
// end the job.
func (ep *Endpoint) NewContext() *Context {
	switch {
	case !ep.single:
		ep.share()
	case !ep.several:
		ep.several, ep.contexts = true, new(contexts)
	}
	return ep.contexts.open(ep)
}

// Close gives the context back: nobody may use it any more. Nothing may be prepared on it, and no lock
// held. What was sent by it goes on, and completions may still come. The default context of the endpoint
// cannot be closed. A handler may close another context than the one that runs it, if no goroutine uses it.
func (c *Context) Close() error {
	ep := c.ep
	switch {
	case c == &ep.Context || c == ep.carrier:
		return ep.Misuse("Context.Close", "the context is the endpoint's own, and lasts as long as it")
	case c.restricted != 0:
		return c.misplaced("Context.Close")
	}
	ep.contexts.close(c)
	return nil
}

// contexts are those of NewContext.
type contexts struct {
	mu   sync.Mutex
	idle []*Context // that were closed
}

// open returns a context that was closed, or a new one.
func (x *contexts) open(ep *Endpoint) *Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.idle); n > 0 {
		c := x.idle[n-1]
		x.idle = x.idle[:n-1]
		c.restricted = 0
		return c
	}
	c := &Context{ep: ep, turn: make(chan struct{}, 1)}
	if ep.watch != nil {
		ep.watch.enrol(c)
	}
	return c
}

func (x *contexts) close(c *Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c.restricted = closed
	x.idle = append(x.idle, c)
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
	case c.restricted&closed != 0:
		return c.ep.Misuse(op, "the context is closed")
	case c.restricted&prepared != 0:
		return c.ep.Misuse(op, "a request is prepared on this context; commit it first")
	}
	return c.ep.Misuse(op, "called while holding a handler-safe lock; release it first")
}
