package gm

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of hosts with GM on their NICs, and of the fabric between them. Values and their
// sources are in the machine file. Steps of the control program are in instructions of the LANai.
type Profile struct {
	File *machine.File // what the profile was read from

	lanai.Profile
	Fabric fabric.Constants `machine:"fabric"`

	GM struct {
		MTU     machine.Bytes `machine:"mtu"`            // payload of a packet, at most
		Fast    machine.Bytes `machine:"fast"`           // messages up to this size come with their event, in one DMA
		Ports   int           `machine:"ports"`          // of a node
		Sends   int           `machine:"send-tokens"`    // of a port
		Accepts int           `machine:"receive-tokens"` // of a port
		Queue   int           `machine:"queue"`          // buffers of the send queue, and of the receive queue
		Window  int           `machine:"window"`         // packets to a node that are not acknowledged, at most

		Resend   vtime.Time `machine:"resend"`   // until what is not acknowledged is sent again
		Wait     vtime.Time `machine:"wait"`     // until a packet is sent again that found no receive buffer; twice as long each time, up to Resend
		Patience vtime.Time `machine:"patience"` // of a node without a receive buffer, until it refuses the message for good
		Tries    int        `machine:"tries"`    // without any progress or wish to wait, until a node counts as unreachable

		Code  machine.Bytes `machine:"code"`  // of the program and its data, in SRAM
		Route machine.Bytes `machine:"route"` // of an entry of the table of routes, in SRAM
	} `machine:"gm"`

	// Steps are those of the four machines, besides the dispatcher.
	Steps struct {
		Token    int `machine:"token"`    // SDMA: a token out of the doorbell FIFO, checked and queued
		Fragment int `machine:"fragment"` // SDMA: to choose a message, make a header with the route, and start the DMA
		Loaded   int `machine:"loaded"`   // SDMA: the fragment is in the send queue
		Send     int `machine:"send"`     // Send: to program the send DMA
		Sent     int `machine:"sent"`     // Send: to free what has left
		Control  int `machine:"control"`  // Send: to make an ACK or NACK
		Arm      int `machine:"arm"`      // Recv: to program the next reception
		Receive  int `machine:"receive"`  // Recv: status, type, header
		Accept   int `machine:"accept"`   // Recv: session, sequence, receive token
		Answered int `machine:"answered"` // Recv: an ACK or NACK that has come
		Store    int `machine:"store"`    // RDMA: to make an event, and start the DMA
		Stored   int `machine:"stored"`   // RDMA: to free the buffer
		Resend   int `machine:"resend"`   // Send: a time-out
	} `machine:"steps"`

	// ITB are the steps that a program with in-transit support has besides: Early and Done are Recv's, Test is Send's, and Program
	// that of either.
	ITB transit.Steps `machine:"itb"`

	Host struct {
		Send     vtime.Time   `machine:"send"`     // the library's call
		Provide  vtime.Time   `machine:"provide"`  // of a receive buffer, likewise
		Receive  vtime.Time   `machine:"receive"`  // an event is found, decoded, and handed to the program
		Visible  vtime.Time   `machine:"visible"`  // from the end of a DMA until a program that polls has it
		Copy     machine.Rate `machine:"copy"`     // out of an event into the receive buffer
		Register vtime.Time   `machine:"register"` // of memory: a system call that pins it
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

// check refuses values for which the program has no meaning.
func (p *Profile) check(c *machine.Checks) {
	g := &p.GM
	c.In("gm.mtu", int(g.MTU), 64, 32<<10)
	c.In("gm.fast", int(g.Fast), 0, int(g.MTU))
	c.In("gm.ports", g.Ports, 1, 128)
	c.In("gm.send-tokens", g.Sends, 1, 4096)
	c.In("gm.receive-tokens", g.Accepts, 1, 4096)
	c.In("gm.queue", g.Queue, 1, 1024)
	c.In("gm.window", g.Window, 1, 1<<14)
	c.In("gm.tries", g.Tries, 1, 1<<20)
	c.In("gm.route", int(g.Route), 1, 4096)
	const longest = 24 * 3600 * vtime.Second
	c.Bad(g.Resend > longest/vtime.Time(max(1, g.Tries)), "gm.resend times gm.tries must not be more than a day")
	c.Takes("gm.resend", g.Resend)
	c.Takes("gm.wait", g.Wait)
	c.Takes("host.visible", p.Host.Visible)
}
