package myrinet

import (
	"math"
	"math/bits"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/core/settings"
)

// params are the settings of the conduit. Where 0 stands for what the machine or the number of ranks says, that is filled in by newSite.
type params struct {
	topology  string // auto, or as fabric.Shape.Make takes it
	perHost   int    // ranks on a host, each with an endpoint of its NIC
	channels  int    // of a NIC; 0: as many as the ranks of a host have
	joint     bool   // puts and gets leave by the channel of their rank's messages
	queue     int    // bytes of a channel's queue in SRAM; 0: its part of what the machine's channels have
	depth     int    // messages in a channel's queue behind which requests wait at their rank
	receive   int    // bytes of an endpoint's queue for what has come; 0: the machine's
	buffers   int    // receive buffers of a NIC; 0: the machine's
	controls  int    // entries of a NIC's queue of control messages; 0: the machine's
	perNI     bool   // sequence numbers per pair of NICs, and not of channels
	unlimited bool   // NICs have as much SRAM as is asked for
	long      int    // bytes of a Long, and of native puts and gets, at most
	alone     bool   // live: the NIC's goroutine alone drives it
	linkRing  int    // bytes of a link ring, live
	bounce    int    // bytes of registered memory for gets into memory that is not registered
	routes    routing.Scheme
	pool      int      // buffers of a NIC for packets in transit
	timeOuts  timeOuts // of NICs
	errors    int      // of packets on a cable, in a million, that are lost, and as many damaged, and cut short; machineErrors: the machine's
	unplug    string   // HOST@TIME; empty: none
	devices   int      // of a host, each with a channel of its NIC

	deviceTime   time.Duration // that a device is busy with a block
	deviceBlocks int           // that a device streams in all

	counts bool // at the end the job says what its NICs have done
}

// timeOuts says whether NICs send again what is not acknowledged in time.
type timeOuts uint8

const (
	whereNeeded timeOuts = iota // as parts of the network lose packets
	always
	never
)

// machineErrors stands for the chances that the machine says.
const machineErrors = -1

const (
	auto        = "auto" // the topology when nothing else is said
	maxBytes    = 64 << 20
	least       = 512 // bytes of limits at least, as the contract has it
	defaultLong = 4 << 20
	leastLink   = 128 << 10 // bytes of a link ring, which has two of the longest packets
)

// table sets p to the defaults and returns the settings of a profile, bound to it.
func (p *params) table(profile string) settings.Table {
	*p = defaults
	machine := settings.Is("machine", 0)
	live := profile == liveProfile
	return settings.Table{
		settings.NameOrFile("topology", &p.topology, func(v string) bool { return v != auto && fabric.IsFile(v) }, "auto, a shape such as mesh:4x4, or the path of a file",
			"switches and cables, as aqbench topology draws them; a shape has as many hosts on each switch as are needed; auto: one switch up to 32 hosts, beyond that a fat tree"),
		settings.Int("per-host", &p.perHost, 1, grim.MaxChannels, "ranks on a host, which share its NIC"),
		settings.Int("channels", &p.channels, 1, grim.MaxChannels, "channels of a NIC, of which a rank has two, or one with one-sided=shared, and a device one; auto: as many as those of a host have", settings.Is(auto, 0)),
		settings.Choice("one-sided", &p.joint, "by which channel a rank's puts and gets leave: one of their own; or that of its messages, which takes less SRAM, and lets a target that refuses messages hold them up",
			settings.Is("own", false), settings.Is("shared", true)),
		settings.Int("devices", &p.devices, 0, grim.MaxChannels, "peripheral devices of a host, each with a channel of its NIC, which stream blocks of 4 KB to the memory of the next host's devices (RM-P) beside the ranks' traffic"),
		settings.Time("device-time", &p.deviceTime, time.Microsecond, time.Second, "how long a device is busy with a block; its NIC refuses what tells of others meanwhile"),
		settings.Int("device-blocks", &p.deviceBlocks, 0, math.MaxInt32, "blocks that a device streams, from when all hosts have attached; then it rests"),
		settings.Size("queue", &p.queue, grim.HeaderSize, maxBytes, "bytes of a channel's queue in SRAM; auto: what all of the machine's channels have, with routes=in-transit less what the pool takes, divided among those that there are", settings.Is(auto, 0)),
		settings.Int("depth", &p.depth, 1, 1<<16, "messages in a channel's queue behind which requests, puts and gets wait at their rank: replies wait in the queue too"),
		settings.Size("receive", &p.receive, grim.HeaderSize, maxBytes, "bytes of an endpoint's queue for what has come, in the host's memory", machine),
		settings.Int("buffers", &p.buffers, 1, 1024, "receive buffers of a NIC; with one there are no native gets", machine),
		settings.Int("controls", &p.controls, 1, 1<<20, "entries of a NIC's queue of control messages", machine),
		settings.Choice("sequencing", &p.perNI, "what numbers its messages for itself: each pair of channels, or each pair of NICs, which takes less SRAM and lets an endpoint hold up its neighbours",
			settings.Is("any-to-any", false), settings.Is("per-ni", true)),
		settings.Switch("unlimited-sram", &p.unlimited, "whether NICs have as much SRAM as is asked for; results are then of no NIC that there was, and the job says so"),
		settings.Size("long", &p.long, least, math.MaxInt32, "bytes of a Long, and of native puts and gets, at most"),
		settings.Choice("nic", &p.alone, "live: who drives a host's NIC: ranks that poll, in the process that has it, and a goroutine while none does; or the goroutine alone, which wants a CPU of its own",
			settings.Is("shared", false), settings.Is("goroutine", true)).Only(live, "a modelled NIC has a processor of its own"),
		settings.Size("link-ring", &p.linkRing, leastLink, maxBytes, "live: bytes of the ring in shared memory, for each pair of hosts, that packets cross the network by; rounded up to a power of two").Only(live, "packets cross a modelled network by its cables"),
		settings.Size("bounce", &p.bounce, least, maxBytes, "bytes of a rank's registered memory through which gets go into memory that is not registered"),
		settings.Choice("routes", &p.routes, "ways through the network: those that never lead up again after down, by a spanning tree of switches; or the shortest, on which hosts take packets in and send them on where they would",
			settings.Is("up-down", routing.UpDown), settings.Is("in-transit", routing.InTransit)),
		settings.Int("pool", &p.pool, 0, 1024, "buffers of a NIC for packets in transit, besides its receive buffers; with time-outs a packet that finds none and cannot leave at once is dropped, and sent again"),
		settings.Choice("time-outs", &p.timeOuts, "whether NICs send again what is not acknowledged in time; auto: if packets can be lost, that is with errors, routes=in-transit or unplug",
			settings.Is(auto, whereNeeded), settings.Is("on", always), settings.Is("off", never)),
		settings.Int("errors", &p.errors, 0, 1_000_000, "packets of a million that are lost on a cable, as many of which a byte is changed, and as many that are cut short; needs time-outs", settings.Is("machine", machineErrors)),
		settings.Text("unplug", &p.unplug, "HOST@TIME, such as h3@20ms", "modelled: a host whose cable is pulled at a time of the job, for good; needs time-outs").Only(!live, "a live job has no cables to be pulled; kill one of its processes"),
		settings.Switch("counts", &p.counts, "whether the job says at its end what each NIC has done: packets, the switches that they have come through, messages, and live also who has driven the NIC, and who was woken"),
	}
}

var defaults = params{topology: auto, perHost: 1, depth: 64, long: defaultLong, linkRing: 256 << 10, bounce: 128 << 10, pool: 8, errors: machineErrors, deviceTime: 100 * time.Microsecond, deviceBlocks: 1000}

// liveProfile is the profile of live jobs. All others are machines.
const liveProfile = "live"

// parseParams reads the settings of a profile.
func parseParams(profile string, values map[string]string) (p params, err error) {
	p = defaults
	err = settings.Read("myrinet", values, func() settings.Table { return p.table(profile) })
	p.linkRing = 1 << bits.Len(uint(p.linkRing-1))
	return p, err
}
