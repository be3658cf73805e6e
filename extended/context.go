package extended

import "github.com/aqueduct-go/aqueduct/core"

// Context is a goroutine's way to the library: all calls go through one. It owns the
// implicit operations and the open access region. It has the methods of the core context
// below it, so active messages and waits go through it too.
type Context struct {
	*core.Context
	ep       *Endpoint
	implicit [categories]*operation // the implicit operations outside access regions
	region   *operation             // the open access region, or nil
	fetched  [8]byte                // the result of the blocking value get or atomic under way
	sent     [8]byte                // the value of the value put that is being initiated
	lent     core.Completion        // payloads in use of the put with LCNow that is being initiated
}

func (c *Context) init(below *core.Context, ep *Endpoint) { c.Context, c.ep = below, ep }

// NewContext returns another context, for another goroutine; see core.Endpoint.NewContext.
func (ep *Endpoint) NewContext() *Context {
	c := new(Context)
	c.init(ep.core.NewContext(), ep)
	return c
}

// Close gives the context back; see core.Context.Close. No access region may be open, and no implicit
// operation of the context under way. Events of it may be waited for by other contexts.
func (c *Context) Close() error {
	switch {
	case c.region != nil:
		return c.ep.misuse("Context.Close", "an access region is open; end it first")
	case !c.quiet(All):
		return c.ep.misuse("Context.Close", "implicit operations are under way; call WaitNBI first")
	}
	if err := c.Context.Close(); err != nil {
		return err
	}
	for k, op := range c.implicit {
		if op != nil {
			c.ep.ops.release(op)
			c.implicit[k] = nil
		}
	}
	return nil
}

// Barrier is a barrier of the world (see Team.Barrier): it returns when all ranks of the
// group have called it. It is not that of the context below, of core.
func (c *Context) Barrier() error { return c.ep.world.Barrier(c) }

// Endpoint returns the endpoint that the context belongs to.
func (c *Context) Endpoint() *Endpoint { return c.ep }
