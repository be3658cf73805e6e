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

// Barrier is a barrier of the world (see Team.Barrier): it returns when all ranks of the
// group have called it. It is not that of the context below, of core.
func (c *Context) Barrier() error { return c.ep.world.Barrier(c) }

// Endpoint returns the endpoint that the context belongs to.
func (c *Context) Endpoint() *Endpoint { return c.ep }
