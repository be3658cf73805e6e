package mpi

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core/settings"
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
	// packAll has requests wait for the sender's next poll, or the service. That is faster for a rank
	// that sends many and polls. A rank that computes instead holds them back for up to two ticks or,
	// without a service, for as long as it computes.
	packAll
)

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

// table sets p to the defaults and returns the settings of the engine, bound to it, and those of its network.
func (p *params) table(network settings.Table) settings.Table {
	*p = defaults()
	return slices.Concat(settings.Table{
		settings.Int("depth", &p.depth, 1, 1<<12, "requests under way per ordered pair of ranks"),
		settings.Size("packet", &p.packet, least, 1<<20, "bytes of a packet; lowered to what the transport sends eagerly"),
		settings.Int("packets", &p.packets, 2, 1<<16, "packets of each lane that may be leaving at once"),
		settings.Int("receives", &p.receives, 1, 1<<16, "receives for packets that are posted on each lane, at most"),
		settings.Int("stages", &p.stages, 1, 1<<10, "large payloads of each lane that may be leaving at once, those that their senders lend apart"),
		settings.Int("mediums", &p.mediums, 1, 1<<10, "large Mediums of each lane that may be arriving at once"),
		settings.Size("medium", &p.medium, least, 1<<24, "bytes of a Medium, at most"),
		settings.Size("long", &p.long, least, 1<<30, "bytes of a Long, at most"),
		settings.Choice("pack", &p.pack, "which messages wait, to be packed, while an earlier packet to the same rank has not left, or was sent after the last poll began; auto is all where there is a service, else replies",
			settings.Is("auto", packAuto), settings.Is("off", packOff), settings.Is("replies", packReplies), settings.Is("all", packAll)),
		settings.Switch("service", &p.async, "whether a service stands in for a rank that does not poll, where the network allows it"),
	}, network)
}

// parseParams reads the settings of the engine, and returns those of its network.
func parseParams(network func() settings.Table, values map[string]string) (p params, rest map[string]string, err error) {
	p = defaults()
	err = settings.Read("mpi", values, func() settings.Table {
		theirs := network()
		all := p.table(theirs)
		rest = all[:len(all)-len(theirs)].Without(values)
		return all
	})
	return p, rest, err
}
