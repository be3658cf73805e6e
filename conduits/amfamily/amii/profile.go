package amii

import (
	"embed"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of hosts with AM-II on their NICs, and of the fabric between them. Values and their sources are in
// the machine file. Steps of the firmware are in instructions of the LANai.
type Profile struct {
	File *machine.File // what the profile was read from

	lanai.Profile
	Fabric fabric.Constants `machine:"fabric"`

	AM2 struct {
		Frames     int           `machine:"frames"`     // endpoints that are in the SRAM at once
		Frame      machine.Bytes `machine:"frame"`      // of an endpoint, in the SRAM
		Descriptor machine.Bytes `machine:"descriptor"` // of a message in a frame
		Sends      int           `machine:"sends"`      // requests that are kept until they are acknowledged, and as many replies
		Receives   int           `machine:"receives"`   // requests that wait for their delivery, and as many replies
		Depth      int           `machine:"depth"`      // requests to an endpoint that are not settled
		Window     int           `machine:"window"`     // packets to an endpoint that are not acknowledged; a power of two
		Medium     machine.Bytes `machine:"medium"`     // payload of a packet that is no fragment, at most
		Fragment   machine.Bytes `machine:"fragment"`   // payload of a fragment of bulk, at most
		Staging    int           `machine:"staging"`    // places in the host's memory: for fragments that come, and as many for messages that leave
		Bulk       machine.Bytes `machine:"bulk"`       // payload of a message, at most
		Buffers    int           `machine:"buffers"`    // of packets in the SRAM, each way
		Weight     int           `machine:"weight"`     // packets of an endpoint in its turn
		Retries    int           `machine:"retries"`    // of a packet without a sign of life, until messages return
		First      vtime.Time    `machine:"first"`      // time-out before anything is known of the path
		Least      vtime.Time    `machine:"least"`      // least time-out
		Longest    vtime.Time    `machine:"longest"`    // longest time-out
		Delay      vtime.Time    `machine:"delay"`      // of an acknowledgement, at most
		KeepAlive  vtime.Time    `machine:"keepalive"`  // of an unsettled request, until the receiver is asked
		Code       machine.Bytes `machine:"code"`       // of the program and its data, in SRAM
		Route      machine.Bytes `machine:"route"`      // of an entry of the table of routes, in SRAM
		Channel    machine.Bytes `machine:"channel"`    // state of a channel, in SRAM, for each frame and node
	} `machine:"am2"`

	// Steps are those of the firmware, besides the dispatcher.
	Steps struct {
		Look     int `machine:"look"`     // an endpoint is looked at for something to be sent
		Send     int `machine:"send"`     // a packet is made ready
		Inject   int `machine:"inject"`   // to program the send DMA
		Sent     int `machine:"sent"`     // a packet has left
		Arm      int `machine:"arm"`      // to program the next reception
		Receive  int `machine:"receive"`  // a packet has come: of which kind, and for whom
		Accept   int `machine:"accept"`   // that is the protocol's
		Fragment int `machine:"fragment"` // and that has a payload for the staging area, besides
		Start    int `machine:"start"`    // to program the host DMA
		Done     int `machine:"done"`     // the host DMA is through
		Service  int `machine:"service"`  // of an endpoint's timers, and of acknowledgements that are owed
	} `machine:"steps"`

	Host struct {
		Send    vtime.Time   `machine:"send"`    // the library's call, without what it writes
		Receive vtime.Time   `machine:"receive"` // a message is decoded, and handed to its handler
		Poll    vtime.Time   `machine:"poll"`    // of the library, beside the read of the NIC's memory
		Copy    machine.Rate `machine:"copy"`    // of a payload, into a staging area or out of one
	} `machine:"host"`

	Driver struct {
		Interrupt vtime.Time `machine:"interrupt"` // of the NIC
		Wakeup    vtime.Time `machine:"wakeup"`    // of a process that sleeps
		Fault     vtime.Time `machine:"fault"`     // of a process that uses an endpoint which is not resident
		Page      vtime.Time `machine:"page"`      // to page an endpoint in, without the DMA
	} `machine:"driver"`
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

// check refuses values for which the firmware has no meaning.
func (p *Profile) check(c *machine.Checks) {
	a := &p.AM2
	c.In("am2.frames", a.Frames, 1, 1<<12)
	c.In("am2.buffers", a.Buffers, 1, 1<<10)
	c.Bad(a.Weight < 1, "am2.weight is %d, but must be 1 at least", a.Weight)
	c.In("am2.route", int(a.Route), 1, 4096)
	c.Bad(a.Descriptor < descriptorHeader, "am2.descriptor is %d B, but must be %d at least", a.Descriptor, descriptorHeader)
	need := machine.Bytes(2*(a.Sends+a.Receives)) * a.Descriptor
	c.Bad(a.Frame < need, "am2.frame is %d B, but %d sends and %d receives, of requests and of replies, need %d", a.Frame, a.Sends, a.Receives, need)
	c.Bad(a.Fragment < a.Medium || a.Fragment > 1<<15, "am2.fragment is %d B, but must be from am2.medium to %d", a.Fragment, 1<<15)
	c.Bad(a.Bulk < a.Fragment, "am2.bulk is %d B, but must be am2.fragment at least", a.Bulk)
	c.Takes("host.poll", p.Host.Poll)
	if c.Err() == nil {
		_, err := am2.NewBundle(p.config(), (*wire)(nil))
		c.Bad(err != nil, "am2: %v", err)
	}
}

// forever is longer than any run: the number of retries alone decides who is unreachable.
const forever = 1 << 20 * time.Second

// config returns the protocol's sizes and times.
func (p *Profile) config() am2.Config {
	a, c := &p.AM2, am2.Defaults()
	c.Depth, c.Window = a.Depth, a.Window
	c.Packets, c.Replies, c.Stages = a.Sends, a.Sends, a.Staging
	c.Receive, c.Assemblies = a.Receives, a.Staging
	c.MaxMedium, c.MaxBulk = int(a.Fragment), int(a.Bulk)
	c.Inline, c.Fragment, c.Unpaced = int(a.Medium), int(a.Fragment), true
	c.Datagram = max(am2.MinDatagram, int(a.Fragment)+am2.FragmentHead)
	c.Pack = max(am2.MinDatagram, (am2.MessageHead+int(a.Medium)+7)&^7)
	c.ReceiveBytes = a.Staging*c.Datagram + a.Receives*c.Pack
	c.AckDelay, c.KeepAlive = a.Delay.Duration(), a.KeepAlive.Duration()
	c.FirstRTO, c.MinRTO, c.MaxRTO = a.First.Duration(), a.Least.Duration(), a.Longest.Duration()
	c.Retries, c.Unreachable = a.Retries, forever
	return c
}
