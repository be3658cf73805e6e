package conduit

import "github.com/aqueduct-go/aqueduct/core"

// Plan implements core.Conduit. A machine that cannot be read was refused before.
func (c *conduit) Plan(a *core.Attachment) (core.Plan, error) {
	_, err := c.params(a.Settings)
	return core.Plan{}, err
}

// Powers implements core.Conduit. The machines notice the loss of a node by nothing, so core tells of it.
func (c *conduit) Powers() core.Powers {
	most, long := c.site.most, c.site.long
	return core.Powers{Limits: core.Limits{
		MaxMediumRequest: most, MaxMediumReply: most,
		MaxLongRequest: long, MaxLongReply: long,
		Ordered: c.site.system.ordered,
	}}
}
