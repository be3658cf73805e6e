package loopback

import (
	"math"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const (
	maxMedium = 64 << 10 // bytes; what users of network conduits expect of a Medium
	maxLong   = 4 << 20  // bytes; staged whole, so bounded
	minBuffer = 64       // bytes of a staging buffer, at least

	// Bounds of the model's settings, within which times do not overflow.
	maxLatency = time.Hour
	minRate    = 1e3
	maxRate    = 1e15

	// pollCost is what looking into the inbox takes under the model. It must be positive,
	// so that a program that only polls lets time pass.
	pollCost = 5 * vtime.Nanosecond
)

// params are the settings of the conduit.
type params struct {
	depth   int           // requests under way per pair
	latency time.Duration // model: from the end of sending to arrival
	rate    float64       // model: bytes per second of a rank's link

	maxSegment int // bytes of a segment

	// Profile native.
	operations int // one-sided operations of a rank under way
	least      int // bytes of the smallest transfer that is not declined
	most       int // bytes of the largest
}

// defaults are the settings when nothing else is asked for.
var defaults = params{
	depth: 64, latency: time.Microsecond, rate: 1e9,
	maxSegment: math.MaxInt,
	operations: 64, least: 1, most: maxLong,
}

// table sets p to the defaults and returns the settings of a profile, bound to it.
func (p *params) table(profile string) settings.Table {
	*p = defaults
	native := func(s settings.Setting) settings.Setting {
		return s.Only(profile == "native", "only profile native moves data by itself")
	}
	return settings.Table{
		settings.Int("depth", &p.depth, 1, 1<<20, "requests under way per pair of ranks"),
		settings.Time("latency", &p.latency, 0, maxLatency, "model: from the end of sending to arrival"),
		settings.Rate("rate", &p.rate, minRate, maxRate, "model: bytes per second of a rank's link"),
		settings.Size("max-segment", &p.maxSegment, shm.PageSize, math.MaxInt, "size of the largest segment", settings.Is("none", math.MaxInt)),
		native(settings.Int("operations", &p.operations, 1, 1<<20, "native: one-sided operations of a rank under way")),
		native(settings.Size("native-least", &p.least, 1, math.MaxInt, "native: bytes below which transfers are declined, and go by messages")),
		native(settings.Size("native-most", &p.most, core.MaxInline, math.MaxInt, "native: bytes of the largest transfer")),
	}
}

// parseParams reads the settings of a profile.
func parseParams(profile string, values map[string]string) (p params, err error) {
	p = defaults
	err = settings.Read("loopback", values, func() settings.Table { return p.table(profile) })
	if err == nil && p.least > p.most { // neither default is, so the first was given
		err = &settings.Error{Conduit: "loopback", Key: "native-least", Value: values["native-least"],
			Why: "more than native-most, so that every transfer would be declined"}
	}
	return p, err
}

// profile returns the profile of the conduit.
func (c *conduit) profile() string {
	if c.mover != nil {
		return "native"
	}
	return "default"
}
