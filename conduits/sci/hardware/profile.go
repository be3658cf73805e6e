package hardware

import (
	"embed"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of a machine. What each one means is said here; its value, and
// where that comes from, is in the machine file. Times of the hardware are spent by this
// package, those under Call and Host by the adapter and the conduit above it.
type Profile struct {
	File *machine.File // what the profile was read from

	Topology struct {
		Shape string `machine:"shape"` // torus, ring or switch; see Machine
		Width int    `machine:"width"` // torus: hosts per row, 0: chosen by the number of hosts; switch: hosts per port
		Radix int    `machine:"radix"` // switch: ports of one; for more ports than that it takes several stages of them
	} `machine:"topology"`

	// Bus is the host's I/O bus, shared by all that goes out and comes in.
	Bus hw.Bus `machine:"bus"`

	// Memory is the host's memory, behind the chipset.
	Memory struct {
		Visible vtime.Time `machine:"visible"` // from the end of an incoming burst until a polling CPU has the line
		Read    vtime.Time `machine:"read"`    // from the request of the adapter to the first data
	} `machine:"memory"`

	// PIO is the CPU's own storing to and loading from remote memory.
	PIO struct {
		Word        vtime.Time    `machine:"word"`        // to store up to 8 bytes into the gather buffer
		Block       machine.Bytes `machine:"block"`       // gather buffer; no burst crosses a multiple of it
		Outstanding int           `machine:"outstanding"` // transactions without an answer; then the CPU stalls
		Flush       vtime.Time    `machine:"flush"`       // to push the gather buffers out
		Status      vtime.Time    `machine:"status"`      // to read the adapter's status register
		Return      vtime.Time    `machine:"return"`      // from the answer of a load in the adapter until the CPU goes on
	} `machine:"pio"`

	// Packet gives the sizes of packets.
	Packet struct {
		Header machine.Bytes `machine:"header"`
		CRC    machine.Bytes `machine:"crc"`
		Small  machine.Bytes `machine:"small"` // data of the smallest packet
		Medium machine.Bytes `machine:"medium"`
		Large  machine.Bytes `machine:"large"` // DMA uses these
	} `machine:"packet"`

	// Adapter is the network adapter.
	Adapter struct {
		Send    vtime.Time `machine:"send"`    // occupied by each packet that goes out
		Forward vtime.Time `machine:"forward"` // and further latency of it
		Receive vtime.Time `machine:"receive"` // occupied by each packet that comes in
		Accept  vtime.Time `machine:"accept"`  // and further latency of it
		Answer  vtime.Time `machine:"answer"`  // to take an answer in
		Buffers int        `machine:"buffers"` // bursts accepted that wait for the bus; then answers wait
	} `machine:"adapter"`

	Link struct {
		Rate machine.Rate `machine:"rate"`
		Hop  vtime.Time   `machine:"hop"`  // to pass a packet on to the next link of a ring; cable included
		Turn vtime.Time   `machine:"turn"` // to pass it on to another ring, or through a stage of the switch
	} `machine:"link"`

	DMA struct {
		Channels  int           `machine:"channels"`  // queues that the engine works on at a time
		Post      vtime.Time    `machine:"post"`      // CPU: the call that starts a queue
		Entry     vtime.Time    `machine:"entry"`     // CPU: to write a transfer's descriptor
		Align     machine.Bytes `machine:"align"`     // of offsets and sizes
		Most      machine.Bytes `machine:"most"`      // of one transfer
		Suggested machine.Bytes `machine:"suggested"` // size from which DMA pays, as the driver suggests
	} `machine:"dma"`
	Engine hw.DMA `machine:"dma"` // what of it is as in all machines

	Interrupt struct {
		Trigger vtime.Time `machine:"trigger"` // CPU: the call that sends one
		Latency vtime.Time `machine:"latency"` // from its arrival until the program's handler runs
	} `machine:"interrupt"`

	Lock struct {
		FetchAdd bool `machine:"fetch-add"` // loads through a lock map fetch and add
	} `machine:"lock"`

	// Error is what goes wrong, and how hosts learn of it.
	Error struct {
		Busy    machine.Chance `machine:"busy"`    // a burst is refused
		Lost    machine.Chance `machine:"lost"`    // a burst, or its answer, is damaged and dropped
		Timeout vtime.Time     `machine:"timeout"` // until a missing answer is an error
		Assess  vtime.Time     `machine:"assess"`  // until the driver knows how severe that is
		Detect  vtime.Time     `machine:"detect"`  // until hosts learn that a link or a node is gone or back
	} `machine:"error"`

	// Limit is enforced by the adapter's driver: package sisci.
	Limit struct {
		Segment  machine.Bytes `machine:"segment"`   // of one segment
		Map      machine.Bytes `machine:"map"`       // granularity of maps of remote segments
		Maps     int           `machine:"maps"`      // of a node's map entries
		DMAQueue int           `machine:"dma-queue"` // transfers in a queue
	} `machine:"limit"`

	// Layout is how the conduit lays itself out on the machine.
	Layout struct {
		Connect string `machine:"connect"` // start: everybody at the start; first-use: when a message needs it
		Flags   string `machine:"flags"`   // single: one message exist flag; summary: one per bank of senders
		Bank    int    `machine:"bank"`    // senders per bank
	} `machine:"layout"`

	// Call is what calls of the driver cost.
	Call struct {
		Create     vtime.Time `machine:"create"`     // a local segment
		Prepare    vtime.Time `machine:"prepare"`    // and make it known to the adapter
		Connect    vtime.Time `machine:"connect"`    // to a remote segment, round trip included
		Map        vtime.Time `machine:"map"`        // a remote segment
		Disconnect vtime.Time `machine:"disconnect"` // or unmap, remove
	} `machine:"call"`

	// Host is what the steps of the conduit's software cost.
	Host struct {
		Build    vtime.Time   `machine:"build"`     // a message's header: packaging and address computation
		LookUp   vtime.Time   `machine:"look-up"`   // a peer's maps
		Slot     vtime.Time   `machine:"slot"`      // to find and mark a free message location
		Sequence vtime.Time   `machine:"sequence"`  // the library's part of starting or checking a sequence
		Copy     vtime.Time   `machine:"copy"`      // to begin a memory copy
		CopyRate machine.Rate `machine:"copy-rate"` // and its bytes
		Test     vtime.Time   `machine:"test"`      // of one flag, the message exist flag among them
		Clear    vtime.Time   `machine:"clear"`     // of one flag
		Scan     vtime.Time   `machine:"scan"`      // per word of flags
		Enqueue  vtime.Time   `machine:"enqueue"`   // a message that was found
		Dispatch vtime.Time   `machine:"dispatch"`  // to call a handler
		Call     vtime.Time   `machine:"call"`      // of the library besides
	} `machine:"host"`
}

//go:embed machines/*.machine
var files embed.FS

// Library returns the machines that come with the package.
func Library() *machine.Library {
	return machine.Built(files, "machines", map[string]string{"d339": "d339-2003"})
}

// Load reads a machine: a built-in one by name, or a user's own by path.
func Load(name string) (*Profile, error) { return machine.Load(Library(), name, NewProfile) }

// NewProfile returns the profile of a machine file that has been read.
func NewProfile(f *machine.File) (*Profile, error) {
	return machine.Checked(f, func(p *Profile, c *machine.Checks) {
		p.File = f
		p.check(c)
	})
}

// check refuses values for which the model has no meaning.
func (p *Profile) check(c *machine.Checks) {
	word := func(name, value string, known ...string) {
		for _, k := range known {
			if value == k {
				return
			}
		}
		c.Bad(true, "%s is %q; known are %q", name, value, known)
	}
	power := func(name string, n machine.Bytes, most machine.Bytes) {
		c.Bad(bits.OnesCount64(uint64(n)) != 1 || n > most, "%s is %d B, but must be a power of two up to %d B", name, n, most)
	}
	positive := func(name string, n int) { c.In(name, n, 1, maxCount) }
	for i := range p.File.Constants {
		k := &p.File.Constants[i]
		c.Bad(k.Time() > longest, "%s is %s %s, but must not be more than %v: programs poll meanwhile, so that an experiment would take hours", k.Name, k.Value, k.Unit, longest)
	}
	c.Bad(p.Link.Rate > slowest, "link.rate must be at least 1 MB/s, or an experiment would take hours")
	c.Bad(p.Host.CopyRate > slowest, "host.copy-rate must be at least 1 MB/s, or an experiment would take hours")
	c.Bad(p.Bus.Clock > slowestClock, "bus.clock must be at least 0.1 MHz, or an experiment would take hours")
	word("topology.shape", p.Topology.Shape, "torus", "ring", "switch")
	word("layout.connect", p.Layout.Connect, "start", "first-use")
	word("layout.flags", p.Layout.Flags, "single", "summary")
	c.In("topology.width", p.Topology.Width, 0, maxCount)
	c.Bad(p.Topology.Shape == "switch" && p.Topology.Width == 0, "topology.width must say how many hosts share a port of the switch")
	c.In("topology.radix", p.Topology.Radix, 2, maxCount)
	power("pio.block", p.PIO.Block, 4096)
	power("packet.small", p.Packet.Small, 4096)
	power("packet.medium", p.Packet.Medium, 4096)
	power("packet.large", p.Packet.Large, 4096)
	power("dma.burst", p.Engine.Burst, 64<<10)
	power("dma.align", p.DMA.Align, 4096)
	power("limit.map", p.Limit.Map, 1<<30)
	c.Bad(p.PIO.Block < wordSize, "pio.block must hold a word, %d B", wordSize)
	c.Bad(p.Packet.Small > p.Packet.Medium || p.Packet.Medium > p.Packet.Large, "packet.medium must not be less than packet.small, nor more than packet.large")
	c.Bad(p.PIO.Block > p.Packet.Large, "pio.block must fit into a large packet")
	c.Bad(p.Engine.Burst < p.Packet.Large, "dma.burst must hold a large packet")
	c.Bad(p.Packet.Header+p.Packet.CRC < 1, "packet.header and packet.crc must not both be 0: a packet must have a header")
	c.Bad(p.Bus.Write > maxCount || p.Bus.Read > maxCount, "bus.write and bus.read must not be more than %d cycles", maxCount)
	positive("bus.width", p.Bus.Width)
	positive("pio.outstanding", p.PIO.Outstanding)
	positive("adapter.buffers", p.Adapter.Buffers)
	positive("dma.channels", p.DMA.Channels)
	positive("dma.outstanding", p.Engine.Outstanding)
	c.In("limit.maps", p.Limit.Maps, 1, maxMaps)
	positive("limit.dma-queue", p.Limit.DMAQueue)
	positive("layout.bank", p.Layout.Bank)
	c.Bad(p.DMA.Most < p.DMA.Align || p.DMA.Align > 0 && p.DMA.Most%p.DMA.Align != 0, "dma.most must be a multiple of dma.align, and not 0")
	c.Bad(p.Limit.Segment < 4096, "limit.segment must be at least 4 KB")
	c.Bad(p.PIO.Word == 0 || p.Host.Test == 0, "pio.word and host.test must take time, or a program that polls would stop the clock")
	c.Bad(p.Error.Timeout == 0, "error.timeout must take time, or an error would be known before the store")
	c.Bad(p.Error.Busy+p.Error.Lost > machine.Certain/2, "error.busy and error.lost together must not be more than half of all bursts")
}

// Bounds within which an experiment takes seconds: what waits for hardware polls, and each poll is simulated.
const (
	longest                     = 10 * vtime.Millisecond
	slowest      machine.Rate   = 1e9 // fs/B: 1 MB/s
	slowestClock machine.Period = machine.Period(10 * vtime.Microsecond)
)

// maxCount bounds what a machine may have of anything that costs memory; map entries are
// only counted.
const (
	maxCount = 4096
	maxMaps  = 16 * maxNodes
)
