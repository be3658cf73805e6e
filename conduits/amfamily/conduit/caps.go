package conduit

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit. There are no settings, and a machine that cannot be read was refused before.
func (c *conduit) Plan(*core.Attachment) (core.Plan, error) { return core.Plan{}, nil }

// Powers implements core.Conduit. The machines notice the loss of a node by nothing, so core tells of it.
func (c *conduit) Powers() core.Powers {
	most := c.site.most
	return core.Powers{Limits: core.Limits{
		MaxMediumRequest: most, MaxMediumReply: most,
		MaxLongRequest: most, MaxLongReply: most,
		Ordered: c.site.system.ordered,
	}}
}
