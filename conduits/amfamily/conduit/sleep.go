package conduit

import "github.com/aqueduct-go/aqueduct/core"

// Sleeper implements core.Conduit: ranks in virtual time park.
func (c *conduit) Sleeper() core.Sleeper { return nil }
