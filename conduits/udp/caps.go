package udp

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	_, err := parseParams(a.Settings)
	return core.Plan{}, err
}

// Powers implements core.Conduit. Nothing is claimed about order: a message that was lost and
// sent again is passed by others.
func (c *conduit) Powers() core.Powers {
	return core.Powers{Limits: core.Limits{
		MaxMediumRequest: c.am.MaxMedium, MaxMediumReply: c.am.MaxMedium,
		MaxLongRequest: c.am.MaxBulk, MaxLongReply: c.am.MaxBulk,
	}}
}
