package myrinet

import "github.com/aqueduct-go/aqueduct/core"

// Sleeper implements core.Conduit. In virtual time a rank that waits parks, see Idle.
func (c *conduit) Sleeper() core.Sleeper { return nil }
