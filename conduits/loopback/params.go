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

// table sets p to the defaults and returns the settings, bound to it.
func (p *params) table() settings.Table {
	*p = defaults
	return settings.Table{
		settings.Int("depth", &p.depth, 1, 1<<20, "requests under way per pair of ranks"),
		settings.Time("latency", &p.latency, 0, maxLatency, "model: from the end of sending to arrival"),
		settings.Rate("rate", &p.rate, minRate, maxRate, "model: bytes per second of a rank's link"),
		settings.Size("max-segment", &p.maxSegment, shm.PageSize, math.MaxInt, "size of the largest segment", settings.Is("none", math.MaxInt)),
		settings.Int("operations", &p.operations, 1, 1<<20, "native: one-sided operations of a rank under way"),
		settings.Size("native-least", &p.least, 1, math.MaxInt, "native: bytes below which transfers are declined, and go by messages"),
		settings.Size("native-most", &p.most, core.MaxInline, math.MaxInt, "native: bytes of the largest transfer"),
	}
}

// parseParams reads the settings.
func parseParams(values map[string]string) (p params, err error) {
	p = defaults
	err = settings.Read("loopback", values, p.table)
	return p, err
}
