package mpi

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	_, _, err := parseParams(c.network.settings, a.Settings)
	return core.Plan{Reach: c.network.Reaches}, err
}

// Powers implements core.Conduit. Order is not claimed: the packet of a large message may
// come long before its payload does.
func (c *conduit) Powers() core.Powers {
	p := core.Powers{
		Limits: core.Limits{
			MaxMediumRequest: c.medium, MaxMediumReply: c.medium,
			MaxLongRequest: c.long, MaxLongReply: c.long,
		},
		Collectives: c,
	}
	if c.network.Reaches {
		p.Reacher = c
	}
	if c.spinner != nil {
		p.Spinner = c
	}
	return p
}
