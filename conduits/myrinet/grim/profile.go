package grim

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of hosts with GRIM on their NICs, and of the fabric between them. Values and their sources
// are in the machine file. Steps of the firmware are in instructions of the LANai.
type Profile struct {
	File *machine.File // what the profile was read from

	lanai.Profile
	Fabric fabric.Constants `machine:"fabric"`

	GRIM struct {
		Channels int           `machine:"channels"` // of a NIC
		Queue    machine.Bytes `machine:"queue"`    // of a channel, for outgoing messages, in SRAM
		Slot     machine.Bytes `machine:"slot"`     // of a slotted queue
		Headers  machine.Bytes `machine:"headers"`  // what headers have of a hybrid queue; payloads have the rest
		Receive  machine.Bytes `machine:"receive"`  // of an endpoint, for messages that have come, in the host's memory
		Buffers  int           `machine:"buffers"`  // of the NIC for a message that is coming, in SRAM
		Controls int           `machine:"controls"` // entries of the queue of control messages
		PIO      machine.Bytes `machine:"pio"`      // the host writes payloads up to this size itself
		Code     machine.Bytes `machine:"code"`     // of the program and its data, in SRAM
		Route    machine.Bytes `machine:"route"`    // of an entry of the table of routes, in SRAM

		Pause  vtime.Time `machine:"pause"`  // of a forwarder after a refusal
		Resend vtime.Time `machine:"resend"` // with Image.TimeOuts: until what is not acknowledged is sent again
		Growth int        `machine:"growth"` // how often that time doubles at most, once for each time-out without any progress
		Tries  int        `machine:"tries"`  // how often without any progress, until the host is told

		Page    machine.Bytes `machine:"page"`    // of the host's memory
		Block   machine.Bytes `machine:"block"`   // the most that a contiguous block has
		Blocks  int           `machine:"blocks"`  // contiguous blocks that a host can have
		Static  int           `machine:"static"`  // static entries of the translation cache
		Runtime int           `machine:"runtime"` // run-time entries
		Pages   int           `machine:"pages"`   // that a run-time entry has addresses for
	} `machine:"grim"`

	// Steps are those of the firmware, besides the dispatcher.
	Steps struct {
		Scan     int `machine:"scan"`     // a scan of the channels
		Channel  int `machine:"channel"`  // and for each channel that it looks at
		Sequence int `machine:"sequence"` // the look-up of any-to-any sequencing, for each message that is sent, and received
		Send     int `machine:"send"`     // to send a message
		Second   int `machine:"second"`   // of a hybrid queue: to start the second DMA
		Wait     int `machine:"wait"`     // a turn of a loop that waits
		Sent     int `machine:"sent"`     // a packet has left
		Arm      int `machine:"arm"`      // to program the next reception
		Receive  int `machine:"receive"`  // a packet has come
		Accept   int `machine:"accept"`   // that is a message
		Control  int `machine:"control"`  // to send a control message
		Answered int `machine:"answered"` // a control message has come
		Rollback int `machine:"rollback"` // for each message that is sent again
		Store    int `machine:"store"`    // to move a message to the host
		Stored   int `machine:"stored"`   // it is there
		Loaded   int `machine:"loaded"`   // a payload has come from the host
		Incoming int `machine:"incoming"` // with Image.Incoming: to look at the queue, for each message that comes
		Fork     int `machine:"fork"`     // of a multicast message, for each child
		Late     int `machine:"late"`     // with Image.TimeOuts: to look through the scoreboard

		Translate int `machine:"translate"` // to look up memory that is adjacent
		Install   int `machine:"install"`   // the host's answer to a miss has come
	} `machine:"steps"`

	ITB transit.Steps `machine:"itb"` // of Image.ITB, besides

	Host struct {
		Send    vtime.Time   `machine:"send"`    // the library's call, without what it writes
		Receive vtime.Time   `machine:"receive"` // a message is found, decoded, and handed to its handler
		Visible vtime.Time   `machine:"visible"` // from the end of a DMA until a program that polls has it
		Copy    machine.Rate `machine:"copy"`    // of a payload into memory that the NIC can fetch it from
		Look    vtime.Time   `machine:"look"`    // from one look at a channel's front register to the next, while there is no room
		Read    vtime.Time   `machine:"read"`    // a look
		Detect  vtime.Time   `machine:"detect"`  // from the loss of a host until the drivers of others know
		Poll    vtime.Time   `machine:"poll"`    // a look for messages that finds none, of a program that is a coroutine

		Thread    vtime.Time `machine:"thread"`    // to hand a message over to a thread that polls
		System    vtime.Time `machine:"system"`    // a system call
		Pin       vtime.Time `machine:"pin"`       // a page in it
		Interrupt vtime.Time `machine:"interrupt"` // of a miss, until the driver begins to work
		Translate vtime.Time `machine:"translate"` // what the driver does for it
	} `machine:"host"`
}

//go:embed machines/*.machine
var files embed.FS

// Library returns the machines that come with the package, which are based on those of package lanai.
func Library() *machine.Library { return machine.Built(files, "machines", nil).Over(lanai.Library()) }

// Load reads a machine: a built-in one by name, or a user's own by path.
func Load(name string) (*Profile, error) { return machine.Load(Library(), name, NewProfile) }

// NewProfile returns the profile of a machine file that has been read.
func NewProfile(f *machine.File) (*Profile, error) {
	return machine.Checked(f, func(p *Profile, c *machine.Checks) {
		p.File = f
		p.Profile.Check(c)
		p.Fabric.Check(c, "fabric.")
		p.check(c)
	})
}

// Live returns the profile for NICs that run in real time: see [lanai.Profile.Free]. The host's library takes the time that it takes too. Capacities, and the times of what waits for others, are
// the machine's; but memory of any size may be one contiguous block, as the NIC has a mapping of it.
func (p *Profile) Live() *Profile {
	q := *p
	q.Free()
	q.Host = Profile{}.Host
	q.Host.Look, q.Host.Copy = liveLook, p.Host.Copy
	g := &q.GRIM
	g.PIO = MaxPayload
	g.Resend, g.Growth, g.Tries = liveResend, liveGrowth, liveTries
	g.Block, g.Blocks = liveMost, liveMost
	return &q
}

// What a live host has: the time between two looks at a front register while the overflow queue waits; the first time-out, some round trips of processes that
// share CPUs; how often it doubles, to 64 ms, as long as a process waits for its CPU while some ten others have theirs; after how many the host is told, up to a second, as half of the time is chance; and the size
// and the number of blocks of registered memory.
const (
	liveLook   = 20 * vtime.Microsecond
	liveResend = 4 * vtime.Millisecond
	liveGrowth = 4
	liveTries  = 8
	liveMost   = 1 << 62
)

// MaxChannels is how many channels a NIC can have: each needs an entry of the scoreboard at least.
const MaxChannels = tokens

// check refuses values for which the firmware has no meaning.
func (p *Profile) check(c *machine.Checks) {
	const mega = 1 << 20
	g := &p.GRIM
	c.In("grim.channels", g.Channels, 1, MaxChannels)
	c.In("grim.queue", int(g.Queue), HeaderSize, 64*mega)
	c.In("grim.slot", int(g.Slot), stateSize+HeaderSize, 64*mega)
	c.In("grim.headers", int(g.Headers), stateSize+HeaderSize, 64*mega)
	c.In("grim.receive", int(g.Receive), HeaderSize, 64*mega)
	c.In("grim.buffers", g.Buffers, 1, 1024)
	c.In("grim.controls", g.Controls, 1, mega)
	c.Bad(g.Page < 64 || g.Page&(g.Page-1) != 0, "grim.page is %d, but must be a power of two from 64 on", g.Page)
	c.In("grim.block", int(g.Block), 1, 1024*mega)
	c.In("grim.blocks", g.Blocks, 0, mega)
	c.In("grim.static", g.Static, 0, mega)
	c.In("grim.runtime", g.Runtime, 1, mega)
	c.In("grim.pages", g.Pages, 1, mega)
	c.In("grim.route", int(g.Route), 1, 4096)
	c.In("grim.growth", g.Growth, 0, 16)
	c.In("grim.tries", g.Tries, 1, 255)
	c.Bad(g.Resend < 1 || g.Resend > vtime.Second, "grim.resend must be a time of up to a second")
	c.Takes("grim.pause", g.Pause)
	c.Takes("host.visible", p.Host.Visible)
	c.Takes("host.look", p.Host.Look)
	c.Takes("host.poll", p.Host.Poll)
}
