package nbrhd

import "github.com/aqueduct-go/aqueduct/core"

// Powers implements core.Conduit. What the networks do by themselves is passed on, except where the
// two would have to agree: an atomic operation of one network is not atomic to those of the other,
// and neither knows of the other's part in a collective operation.
func (c *conduit) Powers() core.Powers {
	a, b := &c.powers[near], &c.powers[far]
	p := core.Powers{
		Limits: core.Limits{
			MaxMediumRequest: min(a.Limits.MaxMediumRequest, b.Limits.MaxMediumRequest),
			MaxMediumReply:   min(a.Limits.MaxMediumReply, b.Limits.MaxMediumReply),
			MaxLongRequest:   min(a.Limits.MaxLongRequest, b.Limits.MaxLongRequest),
			MaxLongReply:     min(a.Limits.MaxLongReply, b.Limits.MaxLongReply),
			Ordered:          a.Limits.Ordered && b.Limits.Ordered,
		},
		LimitsTo: c.limitsTo,
	}
	if a.Reacher != nil || b.Reacher != nil {
		p.Reacher = c
	}
	if a.Putter != nil || b.Putter != nil {
		p.Putter = c
	}
	if a.Getter != nil || b.Getter != nil {
		p.Getter = c
	}
	return p
}

func (c *conduit) limitsTo(r core.Rank) *core.Limits {
	p := &c.powers[c.side[r]]
	if p.LimitsTo != nil {
		return p.LimitsTo(r)
	}
	return &p.Limits
}
