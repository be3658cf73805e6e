package loopback

import (
	"fmt"
	"strconv"
	"time"

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
	depth   int        // requests under way per pair
	latency vtime.Time // model: from the end of sending to arrival
	rate    float64    // model: bytes per second of a rank's link
}

// parseParams reads depth, latency (a duration) and rate (bytes per second).
func parseParams(settings map[string]string) (params, error) {
	p := params{depth: 64, latency: vtime.Microsecond, rate: 1e9}
	for key, v := range settings {
		var err error
		switch key {
		case "depth":
			if p.depth, err = strconv.Atoi(v); err == nil && (p.depth < 1 || p.depth > 1<<20) {
				err = fmt.Errorf("out of range 1 to %d", 1<<20)
			}
		case "latency":
			var d time.Duration
			if d, err = time.ParseDuration(v); err == nil && (d < 0 || d > maxLatency) {
				err = fmt.Errorf("out of range 0 to %v", maxLatency)
			}
			p.latency = vtime.FromDuration(d)
		case "rate":
			if p.rate, err = strconv.ParseFloat(v, 64); err == nil && !(p.rate >= minRate && p.rate <= maxRate) {
				err = fmt.Errorf("out of range %g to %g", minRate, maxRate)
			}
		default:
			err = fmt.Errorf("unknown; known are depth, latency and rate")
		}
		if err != nil {
			return p, fmt.Errorf("loopback: setting %s=%q: %w", key, v, err)
		}
	}
	return p, nil
}
