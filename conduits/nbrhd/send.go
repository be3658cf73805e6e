package nbrhd

import "github.com/aqueduct-go/aqueduct/core"

// Reserve implements core.Conduit.
func (c *conduit) Reserve(op *core.Op) core.Result { return c.to(op.Dst).Reserve(op) }

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) { c.to(op.Dst).Commit(op) }
