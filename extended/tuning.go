package extended

import "github.com/aqueduct-go/aqueduct/extended/coll"

// What tuners need. Programs force algorithms by the job's configuration
// (core.Config.Collectives).

// Force has the calls to come of all teams carried out by the given algorithms, where they
// apply, and by those of the default table otherwise. All members of a team force the same
// between the same two calls of it; nothing is sent. f must not change until the next Force.
// Not while another goroutine begins a call, and not allowed in a handler.
func (ep *Endpoint) Force(c *Context, f coll.Forced) error {
	return c.Exclusively(func() {
		ep.forced = f
		for _, t := range ep.teams {
			t.engine.Forget()
		}
	})
}

// Choices returns what can carry out a call of the team that moves blocks or vectors of
// the given size in bytes; a reduction is of elements of elem bytes and commutes. The same
// on all members (see coll.Choices). A handler may call it.
func (t *Team) Choices(op coll.Op, bytes, elem int) []coll.Choice {
	return t.engine.Choices(coll.Call{Op: op, Bytes: bytes, Elem: elem, Commutes: true})
}

// Kind returns the kind that the team is of in tables of algorithms. The same on all members. A handler may call it.
func (t *Team) Kind() coll.Teams { return coll.TeamsOf(&coll.Call{Reach: t.reach, Hosts: t.hosts}) }
