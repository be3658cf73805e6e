package mpi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
		packet:   8192, // with room for a payload of 4096 bytes, where the transport sends that eagerly
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

// number is where a setting goes that is one, and which values it may have.
type number struct {
	to       *int
	min, max int
}

// numbers returns the settings of the engine that are numbers.
func (p *params) numbers() map[string]number {
	return map[string]number{
		"depth":    {&p.depth, 1, 1 << 12},
		"packet":   {&p.packet, least, 1 << 20},
		"packets":  {&p.packets, 2, 1 << 16},
		"receives": {&p.receives, 1, 1 << 16},
		"stages":   {&p.stages, 1, 1 << 10},
		"mediums":  {&p.mediums, 1, 1 << 10},
		"medium":   {&p.medium, least, 1 << 24},
		"long":     {&p.long, least, 1 << 30},
	}
}

// The other settings of the engine.
const (
	packKey    = "pack"
	serviceKey = "service"
)

// UnknownSetting returns the error for a setting that a network does not know. It lists all that there
// are: the network's own, and those of the engine.
func UnknownSetting(key, value string, own ...string) error {
	all := slices.AppendSeq(append(own, packKey, serviceKey), maps.Keys(new(params).numbers()))
	slices.Sort(all)
	return fmt.Errorf("mpi: setting %s=%q: unknown; there are %s", key, value, strings.Join(all, ", "))
}

// parseParams reads the settings of the engine and returns those that it does not know.
func parseParams(settings map[string]string) (p params, rest map[string]string, err error) {
	p = defaults()
	known := p.numbers()
	rest = make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(settings)) { // so that errors are the same in every run
		v := settings[key]
		k, ok := known[key]
		switch {
		case ok:
			if *k.to, err = strconv.Atoi(v); err == nil && (*k.to < k.min || *k.to > k.max) {
				err = fmt.Errorf("out of range %d to %d", k.min, k.max)
			}
		case key == packKey:
			if p.pack, ok = packings[v]; !ok {
				err = fmt.Errorf("want auto, off, replies or all")
			}
		case key == serviceKey:
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
