package mpi

import "github.com/aqueduct-go/aqueduct/core"

// Limits implements core.Conduit. Order is not claimed: the packet of a large message may
// come long before its payload does.
func (c *conduit) Limits() core.Limits {
	return core.Limits{
		MaxMediumRequest: c.medium, MaxMediumReply: c.medium,
		MaxLongRequest: c.long, MaxLongReply: c.long,
	}
}
