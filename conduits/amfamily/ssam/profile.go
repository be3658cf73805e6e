package ssam

import (
	"embed"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of workstations on ATM. Values and their sources are in the machine file.
type Profile struct {
	File *machine.File // what the profile was read from

	Link struct {
		Rate  machine.Rate  `machine:"rate"`
		Cell  machine.Bytes `machine:"cell"` // on the wire
		Cable vtime.Time    `machine:"cable"`
	} `machine:"link"`
	Switch struct {
		Time vtime.Time `machine:"time"` // from the last byte in until the first byte out
	} `machine:"switch"`

	Card struct {
		Words  int           `machine:"words"`  // that the processor moves for a cell
		Data   machine.Bytes `machine:"data"`   // of a cell, for the library
		Output int           `machine:"output"` // cells in the FIFO
		Input  int           `machine:"input"`
	} `machine:"card"`
	Bus struct {
		Clock machine.Period `machine:"clock"`
		Write int            `machine:"write"` // cycles of a word to the card
		Read  int            `machine:"read"`  // and from it
	} `machine:"bus"`

	Memory struct {
		Copy machine.Rate `machine:"copy"` // by the processor, from memory to memory
	} `machine:"memory"`
	Trap struct {
		Time  vtime.Time `machine:"time"`  // into the kernel and back
		Check vtime.Time `machine:"check"` // of a cell, by the kernel
	} `machine:"trap"`
	SSAM struct {
		Format   vtime.Time    `machine:"format"`   // of a cell
		Dispatch vtime.Time    `machine:"dispatch"` // of a cell that has come
		Buffers  int           `machine:"buffers"`  // of a device
		Depth    int           `machine:"depth"`    // requests to a partner without a reply
		Message  machine.Bytes `machine:"message"`  // data, at most
	} `machine:"ssam"`

	Driver struct {
		Call      vtime.Time `machine:"call"`
		Interrupt vtime.Time `machine:"interrupt"`
		Wakeup    vtime.Time `machine:"wakeup"`
		Cell      vtime.Time `machine:"cell"` // in the driver, either way
	} `machine:"driver"`
	Vendor struct {
		Call vtime.Time `machine:"call"` // besides the driver's
	} `machine:"vendor"`
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
	c.In("link.cell", int(p.Link.Cell), 1, 4096)
	c.In("card.words", p.Card.Words, 1, 1024)
	c.In("card.data", int(p.Card.Data), headerBytes, 4096)
	c.In("card.output", p.Card.Output, 1, 1<<16)
	c.In("card.input", p.Card.Input, 8, 1<<16)
	c.In("ssam.buffers", p.SSAM.Buffers, 1, 1<<16)
	c.In("ssam.depth", p.SSAM.Depth, 1, 1<<16)
	c.In("ssam.message", int(p.SSAM.Message), 0, 1<<15)
	c.Takes("bus.read", p.read(1))
	c.Takes("trap.time", p.Trap.Time)
}

// write and read return how long the processor takes for so many words of the card.
func (p *Profile) write(words int) vtime.Time { return p.Bus.Clock.Time(words * p.Bus.Write) }
func (p *Profile) read(words int) vtime.Time  { return p.Bus.Clock.Time(words * p.Bus.Read) }

// copied returns how long the processor takes to copy the data of so many cells.
func (p *Profile) copied(cells int) vtime.Time {
	return p.Memory.Copy.Time(cells * int(p.Card.Data))
}

// cells returns how many cells a message with so many bytes of data takes.
func (p *Profile) cells(data int) int {
	size := int(p.Card.Data)
	return (headerBytes + data + size - 1) / size
}
