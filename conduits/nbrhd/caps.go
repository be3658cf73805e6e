package nbrhd

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	var p core.Plan
	parts, err := c.split(a)
	if err != nil {
		return p, err
	}
	for i := range c.part {
		if check := c.names[i].driver.Check; check != nil {
			if err := check(a.Boot, parts[i].Group); err != nil {
				return p, fmt.Errorf("nbrhd: the %s conduit, %s, cannot be used: %w", sides[i], c.names[i].driver.Name, err)
			}
		}
		q, err := c.part[i].Plan(&parts[i])
		if err != nil {
			return p, fmt.Errorf("nbrhd: the %s conduit: %w", sides[i], err)
		}
		p.Footprint += q.Footprint
		if p.MaxSegment == 0 || q.MaxSegment > 0 && q.MaxSegment < p.MaxSegment {
			p.MaxSegment = q.MaxSegment
		}
		p.Reach = p.Reach || q.Reach
	}
	return p, nil
}

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
