package sci

import (
	"math"

	"github.com/aqueduct-go/aqueduct/core"
)

// Plan implements core.Conduit.
func (c *live) Plan(a *core.Attachment) (core.Plan, error) {
	_, err := parseParams(c.profile(), a.Settings)
	return core.Plan{Footprint: c.footprint(len(a.Group)), Reach: true}, err
}

// Powers implements core.Conduit.
func (c *live) Powers() core.Powers {
	return core.Powers{
		Limits: core.Limits{
			MaxMediumRequest: maxMedium, MaxMediumReply: maxMedium,
			MaxLongRequest: math.MaxInt32, MaxLongReply: math.MaxInt32,
			Ordered: true,
		},
		Reacher: c,
		Foreign: c.foreign(),
		Lasting: true,
	}
}

// Plan implements core.Conduit.
func (c *paper) Plan(a *core.Attachment) (core.Plan, error) {
	if _, err := parseParams(c.profile(), a.Settings); err != nil {
		return core.Plan{}, err
	}
	most, err := c.maxSegment(a)
	return core.Plan{Footprint: c.footprint(a), MaxSegment: most}, err
}

// Powers implements core.Conduit.
func (c *paper) Powers() core.Powers {
	p := core.Powers{Limits: c.limits(), Lasting: c.model == nil}
	if c.model != nil {
		p.LossDetector = c
	}
	return p
}

// Powers implements core.Conduit: those of the published layout, and what the adapter does without
// the target's processor.
func (c *modelled) Powers() core.Powers {
	p := c.paper.Powers()
	p.Putter, p.Atomics = c, c
	return p
}

// limits returns the sizes of messages. Two requests to a peer may be under way, and the scan of
// the flags takes them in order of slot, not of sending.
func (c *paper) limits() core.Limits {
	long := stagingSize
	if c.model != nil {
		long = min(long, int(c.model.profile.Limit.Segment))
	}
	return core.Limits{
		MaxMediumRequest: paperMedium, MaxMediumReply: paperMedium,
		MaxLongRequest: long, MaxLongReply: long,
	}
}
