package loopback

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
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
	depth   int        // requests under way per pair
	latency vtime.Time // model: from the end of sending to arrival
	rate    float64    // model: bytes per second of a rank's link

	maxSegment int // bytes of a segment

	// Profile native.
	operations int // one-sided operations of a rank under way
	least      int // bytes of the smallest transfer that is not declined
	most       int // bytes of the largest
}

// known are the settings, each with what reads it.
var known = []struct {
	key  string
	read func(p *params, v string) error
}{
	{"depth", func(p *params, v string) error { return number(&p.depth, v, 1, 1<<20) }},
	{"latency", (*params).setLatency},
	{"rate", (*params).setRate},
	{"max-segment", func(p *params, v string) error { return size(&p.maxSegment, v, shm.PageSize) }},
	{"operations", func(p *params, v string) error { return number(&p.operations, v, 1, 1<<20) }},
	{"native-least", func(p *params, v string) error { return size(&p.least, v, 1) }},
	{"native-most", func(p *params, v string) error { return size(&p.most, v, core.MaxInline) }},
}

// defaults are the settings when nothing else is asked for.
var defaults = params{
	depth: 64, latency: vtime.Microsecond, rate: 1e9,
	maxSegment: math.MaxInt,
	operations: 64, least: 1, most: maxLong,
}

// parseParams reads the settings.
func parseParams(settings map[string]string) (params, error) {
	p := defaults
	for key, v := range settings {
		if err := p.set(key, v); err != nil {
			return p, fmt.Errorf("loopback: setting %s=%q: %w", key, v, err)
		}
	}
	return p, nil
}

// set reads one setting.
func (p *params) set(key, v string) error {
	var keys []string
	for _, k := range known {
		if k.key == key {
			return k.read(p, v)
		}
		keys = append(keys, k.key)
	}
	return fmt.Errorf("unknown; known are %s", strings.Join(keys, ", "))
}

func (p *params) setLatency(v string) error {
	d, err := time.ParseDuration(v)
	if err == nil && (d < 0 || d > maxLatency) {
		err = fmt.Errorf("out of range 0 to %v", maxLatency)
	}
	p.latency = vtime.FromDuration(d)
	return err
}

func (p *params) setRate(v string) (err error) {
	if p.rate, err = strconv.ParseFloat(v, 64); err == nil && !(p.rate >= minRate && p.rate <= maxRate) {
		err = fmt.Errorf("out of range %g to %g", minRate, maxRate)
	}
	return err
}

// number reads a whole number from least to most.
func number(n *int, v string, least, most int) (err error) {
	if *n, err = strconv.Atoi(v); err == nil && (*n < least || *n > most) {
		err = fmt.Errorf("out of range %d to %d", least, most)
	}
	return err
}

// size reads a number of bytes, at least as many as given.
func size(n *int, v string, least int) (err error) {
	if *n, err = core.ParseSize(v, 0); err == nil && *n < least {
		err = fmt.Errorf("less than %d bytes", least)
	}
	return err
}
