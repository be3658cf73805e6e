package hpam

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of workstations in a ring. Values and their sources are in the machine file.
type Profile struct {
	File *machine.File // what the profile was read from

	Ring struct {
		Rate     machine.Rate   `machine:"rate"`
		Overhead machine.Bytes  `machine:"overhead"` // of a frame, besides its data
		Token    machine.Bytes  `machine:"token"`
		Frame    machine.Bytes  `machine:"frame"`    // with its overhead, at most
		Stations int            `machine:"stations"` // in the ring, if there are no more workstations
		Hop      vtime.Time     `machine:"hop"`      // of the token and of frames, from station to station
		Hold     vtime.Time     `machine:"hold"`     // how long a station keeps the token: a frame begins before that
		Lose     machine.Chance `machine:"lose"`     // of a frame to be destroyed
	} `machine:"ring"`

	// Bus is the bus between the processor and the card.
	Bus struct {
		Clock machine.Period `machine:"clock"`
		Width machine.Bytes  `machine:"width"`
		Write int            `machine:"write"` // cycles of a burst besides its data
		Read  int            `machine:"read"`
		Burst machine.Bytes  `machine:"burst"` // that the processor moves at a time
	} `machine:"bus"`

	Memory struct {
		Copy machine.Rate `machine:"copy"` // by the processor, from memory to memory
	} `machine:"memory"`

	HPAM struct {
		Buffers int           `machine:"buffers"` // for requests to a partner; and for replies
		Pool    int           `machine:"pool"`    // receive buffers of a card
		Payload machine.Bytes `machine:"payload"` // of a message, with its arguments
		Timeout vtime.Time    `machine:"timeout"` // until a request is sent again
		Tries   int           `machine:"tries"`   // of a request, until its partner counts as lost
		Send    vtime.Time    `machine:"send"`    // the processor's steps for a message that is sent, besides the bus
		Receive vtime.Time    `machine:"receive"` // and for one that is received
		Queue   vtime.Time    `machine:"queue"`   // to queue a message of another program, besides its copies
		Switch  vtime.Time    `machine:"switch"`  // of processes, besides copies
	} `machine:"hpam"`

	TCP struct {
		Call      vtime.Time    `machine:"call"`      // a system call on a socket
		Output    vtime.Time    `machine:"output"`    // TCP and IP for a segment or an acknowledgement that is sent
		Input     vtime.Time    `machine:"input"`     // and for one that is received
		Driver    vtime.Time    `machine:"driver"`    // for a frame, either way
		Interrupt vtime.Time    `machine:"interrupt"` // of a frame that has come
		Wakeup    vtime.Time    `machine:"wakeup"`    // of a process
		Window    machine.Bytes `machine:"window"`    // sent and not acknowledged, at most
		Header    machine.Bytes `machine:"header"`    // of TCP and IP
	} `machine:"tcp"`
}

//go:embed machines/*.machine
var files embed.FS

// Library returns the machines that come with the package.
func Library() *machine.Library { return machine.Built(files, "machines", nil) }

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
	c.In("bus.width", int(p.Bus.Width), 1, 64)
	c.In("bus.burst", int(p.Bus.Burst), 1, 4096)
	c.In("hpam.buffers", p.HPAM.Buffers, 1, maxBuffers)
	c.In("hpam.pool", p.HPAM.Pool, 1, 1<<16)
	c.In("hpam.tries", p.HPAM.Tries, 1, 1<<20)
	c.In("ring.stations", p.Ring.Stations, 2, 1000)
	c.In("ring.frame", int(p.Ring.Frame), int(p.Ring.Overhead)+max(headerBytes, int(p.TCP.Header))+1, 1<<20)
	c.In("hpam.payload", int(p.HPAM.Payload), argBytes, p.frameData()-headerBytes+argBytes)
	c.In("tcp.window", int(p.TCP.Window), int(p.HPAM.Payload)+int(p.TCP.Header)+headerBytes, 1<<24)
	c.Takes("ring.hop", p.Ring.Hop)
	c.Takes("hpam.timeout", p.HPAM.Timeout)
	c.Takes("hpam.switch", p.HPAM.Switch)
}

// frameData returns how many bytes a frame carries at most.
func (p *Profile) frameData() int { return int(p.Ring.Frame - p.Ring.Overhead) }

// Most returns how many bytes of data a message has at most, besides its arguments.
func (p *Profile) Most() int { return int(p.HPAM.Payload) - argBytes }

// store and load return how long the processor takes to write n bytes to a card, and to read them.
func (p *Profile) store(n int) vtime.Time { return p.bursts(n, p.Bus.Write) }
func (p *Profile) load(n int) vtime.Time  { return p.bursts(n, p.Bus.Read) }

// bursts returns how long n bytes take in bursts, each of which takes so many cycles besides its data.
func (p *Profile) bursts(n, cycles int) vtime.Time {
	bus, burst := hw.Bus{Clock: p.Bus.Clock, Width: int(p.Bus.Width), Write: cycles}, int(p.Bus.Burst)
	t := vtime.Time(n/burst) * bus.WriteTime(burst)
	if rest := n % burst; rest > 0 {
		t += bus.WriteTime(rest)
	}
	return t
}
