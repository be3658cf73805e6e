package mpi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// params are the settings of the engine.
type params struct {
	depth    int // requests under way per pair
	packet   int // bytes of a packet; Attach lowers it to what the transport sends eagerly
	packets  int // packets of each lane that may be leaving at once
	receives int // packets' receives of each lane that are posted at most
	stages   int // large payloads of each lane that may be leaving at once
	mediums  int // large Mediums of each lane that may be arriving at once
	medium   int // bytes of a Medium at most
	long     int // bytes of a Long at most
	pack     packing
	async    bool // the service carries on while the rank does not poll
}

// packing says which active messages wait, while an earlier packet to the same rank has not
// left, to be sent in one packet.
type packing uint8

const (
	// packAuto is packAll if the service sees to it that nothing waits for long, else packReplies.
	packAuto packing = iota
	packOff
	// packReplies is safe for every program: replies wait for the end of the poll that runs
	// their handlers, at most.
	packReplies
	// packAll has requests wait for the sender's next poll, or the service: faster for a rank that
	// sends many and polls, but one that computes instead holds them back for up to two ticks, and
	// for as long as it computes if there is no service.
	packAll
)

var packings = map[string]packing{"auto": packAuto, "off": packOff, "replies": packReplies, "all": packAll}

// The defaults were chosen, not measured, except as said.
func defaults() params {
	return params{
		depth:    32,
		packet:   4096, // Open MPI's shared-memory eager limit, the lowest of the common ones
		packets:  64,
		receives: 256,
		stages:   4,
		mediums:  8,
		medium:   64 << 10, // what users of network conduits expect of a Medium
		long:     4 << 20,  // staged whole, so bounded
		async:    true,
	}
}

const (
	unit      = 8   // records and buffers begin at multiples of it
	least     = 512 // bytes of a packet at least, and of limits
	firstRoom = 1   // requests that may be under way to a rank that has not been heard of
	// exactReceives is how many packets' receives are posted at most for a rank, where each has its own:
	// what comes beyond waits in the unexpected queue. Few are used again soon, and are in the
	// processor's cache then.
	exactReceives = 4
	doneBatch     = 64     // completions taken from the transport in one call
	slack         = 4 * 16 // bytes behind each packet's buffer: Dispatch gets a window of 16 arguments
)

// parseParams reads the settings of the engine and returns those that it does not know.
func parseParams(settings map[string]string) (p params, rest map[string]string, err error) {
	p = defaults()
	known := map[string]struct {
		to       *int
		min, max int
	}{
		"depth":    {&p.depth, 1, 1 << 12},
		"packet":   {&p.packet, least, 1 << 20},
		"packets":  {&p.packets, 2, 1 << 16},
		"receives": {&p.receives, 1, 1 << 16},
		"stages":   {&p.stages, 1, 1 << 10},
		"mediums":  {&p.mediums, 1, 1 << 10},
		"medium":   {&p.medium, least, 1 << 24},
		"long":     {&p.long, least, 1 << 30},
	}
	rest = make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(settings)) { // so that errors are the same in every run
		v := settings[key]
		k, ok := known[key]
		switch {
		case ok:
			if *k.to, err = strconv.Atoi(v); err == nil && (*k.to < k.min || *k.to > k.max) {
				err = fmt.Errorf("out of range %d to %d", k.min, k.max)
			}
		case key == "pack":
			if p.pack, ok = packings[v]; !ok {
				err = fmt.Errorf("want auto, off, replies or all")
			}
		case key == "service":
			if p.async = v == "on"; !p.async && v != "off" {
				err = fmt.Errorf("want on or off")
			}
		default:
			rest[key] = v
		}
		if err != nil {
			return p, nil, fmt.Errorf("mpi: setting %s=%q: %w", key, v, err)
		}
	}
	return p, rest, nil
}
