package am

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of a parallel machine. Values and their sources are in the machine file.
type Profile struct {
	File *machine.File // what the profile was read from

	Net struct {
		Networks int           `machine:"networks"` // 2, or 1 for requests and replies together
		Rate     machine.Rate  `machine:"rate"`
		Latency  vtime.Time    `machine:"latency"`
		Header   machine.Bytes `machine:"header"` // of a message, besides its handler and arguments
	} `machine:"net"`
	Memory struct {
		Copy machine.Rate `machine:"copy"`
	} `machine:"memory"`
	AM struct {
		Send    vtime.Time    `machine:"send"`
		Receive vtime.Time    `machine:"receive"` // with the interrupt
		Message machine.Bytes `machine:"message"` // data, at most

		// Of nodes that hold interrupts off, see Node.Hold.
		Poll    vtime.Time `machine:"poll"`    // to let interrupts through
		Replies int        `machine:"replies"` // in memory, at which a node polls before it sends
	} `machine:"am"`

	// Library is sending and receiving with buffers in the kernel.
	Library struct {
		Call      vtime.Time `machine:"call"`      // to send, or to receive
		Buffer    vtime.Time `machine:"buffer"`    // to allocate and free, each
		Protocol  vtime.Time `machine:"protocol"`  // each way
		Interrupt vtime.Time `machine:"interrupt"` // of a message that has come
		Match     vtime.Time `machine:"match"`     // of a receive with what has come
		Wakeup    vtime.Time `machine:"wakeup"`    // of a process
		Buffers   int        `machine:"buffers"`   // of a node: in each network, each way
	} `machine:"library"`
}

//go:embed machines/*.machine
var files embed.FS

// Machines returns the machines that come with the package.
func Machines() *machine.Library { return machine.Built(files, "machines", nil) }

// Load reads a machine: a built-in one by name, or a user's own by path.
func Load(name string) (*Profile, error) { return machine.Load(Machines(), name, NewProfile) }

// NewProfile returns the profile of a machine file that has been read.
func NewProfile(f *machine.File) (*Profile, error) {
	return machine.Checked(f, func(p *Profile, c *machine.Checks) {
		p.File = f
		p.check(c)
	})
}

// check refuses values for which the model has no meaning.
func (p *Profile) check(c *machine.Checks) {
	c.In("net.networks", p.Net.Networks, 1, 2)
	c.In("am.message", int(p.AM.Message), 0, 1<<24)
	c.In("am.replies", p.AM.Replies, 1, 1<<16)
	c.In("library.buffers", p.Library.Buffers, 1, 1<<16)
	c.Takes("net.latency", p.Net.Latency)
	c.Takes("am.receive", p.AM.Receive)
	c.Takes("am.poll", p.AM.Poll)
}
