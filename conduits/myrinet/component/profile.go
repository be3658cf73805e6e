package component

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of hosts with the component, and of the fabric between them. Values and their sources are in the
// machine file. Steps are in instructions of the LANai.
type Profile struct {
	File *machine.File // what the profile was read from

	lanai.Profile
	Fabric fabric.Constants `machine:"fabric"`

	NIC struct {
		Code  machine.Bytes `machine:"code"`  // of the program and its data, in SRAM
		Route machine.Bytes `machine:"route"` // of an entry of the table of routes, in SRAM
	} `machine:"nic"`

	// Steps are those of the baseline, besides the dispatcher.
	Steps struct {
		Token   int `machine:"token"`   // an entry of the Tx FIFO Queue is taken
		Loaded  int `machine:"loaded"`  // a frame's host DMA has ended
		Send    int `machine:"send"`    // a frame is given to the send DMA
		Sent    int `machine:"sent"`    // it has left
		Arm     int `machine:"arm"`     // the next reception is programmed
		Receive int `machine:"receive"` // a frame is looked at
		Store   int `machine:"store"`   // its host DMA is started
		Stored  int `machine:"stored"`  // that has ended, and an entry of the Rx FIFO Queue is made
	} `machine:"steps"`

	// Protocol are the steps that each protocol has besides, wherever it acts on the NIC.
	Protocol struct {
		Active      int `machine:"active"`
		Reliability int `machine:"reliability"`
		Ack         int `machine:"ack"`
		Timeout     int `machine:"timeout"`
		Credits     int `machine:"credits"`
		Multicast   int `machine:"multicast"`
		MTU         int `machine:"mtu"`
		Rendezvous  int `machine:"rendezvous"`
		Evaluate    int `machine:"evaluate"`
	} `machine:"protocol"`

	Host struct {
		Message vtime.Time   `machine:"message"` // a message is handed over, or a buffer posted
		Frame   vtime.Time   `machine:"frame"`   // header and descriptor of a frame are made
		Receive vtime.Time   `machine:"receive"` // an entry of the Rx FIFO Queue is found, and decoded
		Visible vtime.Time   `machine:"visible"` // until a program that polls sees what the NIC has done
		Copy    machine.Rate `machine:"copy"`    // out of the staging buffer
		Choose  vtime.Time   `machine:"choose"`  // Adaptive, for each message
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
	c.In("nic.route", int(p.NIC.Route), 1, 4096)
	c.Takes("host.visible", p.Host.Visible)
}
