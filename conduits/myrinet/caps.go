package myrinet

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	_, err := parseParams(c.machine, a.Settings)
	return core.Plan{Footprint: footprint}, err
}

// footprint is what an idle rank takes of the host's memory, about: its NIC, its cable, its endpoint.
const footprint = 32 << 10

// Powers implements core.Conduit.
func (c *conduit) Powers() core.Powers {
	medium := c.mostMedium()
	p := core.Powers{
		Limits: core.Limits{
			MaxMediumRequest: medium, MaxMediumReply: medium,
			MaxLongRequest: c.long, MaxLongReply: c.long,
			Ordered: true,
		},
		Putter: c, Idler: c, LossDetector: c,
	}
	if c.site.profile.GRIM.Buffers > 1 {
		p.Getter = c
	}
	return p
}

// Plan implements core.Conduit.
func (c *live) Plan(a *core.Attachment) (core.Plan, error) {
	p, err := parseParams(liveProfile, a.Settings)
	if err != nil {
		return core.Plan{}, err
	}
	return core.Plan{Footprint: p.boardSize(a.Group, a.Boot.Rank()) + footprint}, nil
}

// Powers implements core.Conduit.
func (c *live) Powers() core.Powers {
	medium := c.most - mostHead
	p := core.Powers{
		Limits: core.Limits{
			MaxMediumRequest: medium, MaxMediumReply: medium,
			MaxLongRequest: c.long, MaxLongReply: c.long,
			Ordered: true,
		},
		Putter: c,
	}
	if c.site.profile.GRIM.Buffers > 1 {
		p.Getter = c
	}
	return p
}
