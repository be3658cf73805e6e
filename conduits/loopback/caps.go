package loopback

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	p, err := parseParams(c.profile(), a.Settings)
	return core.Plan{MaxSegment: p.maxSegment}, err
}

// Powers implements core.Conduit.
func (c *conduit) Powers() core.Powers {
	p := core.Powers{Limits: core.Limits{
		MaxMediumRequest: maxMedium, MaxMediumReply: maxMedium,
		MaxLongRequest: maxLong, MaxLongReply: maxLong,
		Ordered: true,
	}}
	if c.model != nil {
		p.Idler = c
	}
	if c.mover != nil {
		p.Putter, p.Getter, p.Atomics = c, c, c
	}
	return p
}
