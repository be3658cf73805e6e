package sci

import (
	"math"

	"github.com/aqueduct-go/aqueduct/core"
)

// Limits implements core.Conduit.
func (c *live) Limits() core.Limits {
	return core.Limits{
		MaxMediumRequest: maxMedium, MaxMediumReply: maxMedium,
		MaxLongRequest: math.MaxInt32, MaxLongReply: math.MaxInt32,
		Ordered: true,
	}
}

// Limits implements core.Conduit. Two requests to a peer may be under way, and the scan of
// the flags takes them in order of slot, not of sending.
func (c *paper) Limits() core.Limits {
	long := stagingSize
	if c.model != nil {
		long = min(long, int(c.model.profile.Limit.Segment))
	}
	return core.Limits{
		MaxMediumRequest: paperMedium, MaxMediumReply: paperMedium,
		MaxLongRequest: long, MaxLongReply: long,
	}
}
