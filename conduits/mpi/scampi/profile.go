package scampi

import (
	"embed"
	"errors"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Profile holds the constants of a machine with the library on it: those of the hardware, and
// those whose names begin with scampi. Values and their sources are in the machine file.
type Profile struct {
	Hardware *hardware.Profile
	File     *machine.File // what the profile was read from, all of it

	Library struct {
		// Times of software steps.
		Call     vtime.Time `machine:"call"`     // of MPI: arguments, lock, communicator
		Request  vtime.Time `machine:"request"`  // to make a request object, and again to complete and free it
		Test     vtime.Time `machine:"test"`     // per request that MPI_Testsome looks at
		Envelope vtime.Time `machine:"envelope"` // to make an envelope or to take it apart
		Match    vtime.Time `machine:"match"`    // per entry of a matching queue that is looked at
		Scan     vtime.Time `machine:"scan"`     // per channel that the progress engine looks at
		Import   vtime.Time `machine:"import"`   // per transfer: to find the import, check it and take it

		// Layout.
		Imports int           `machine:"imports"` // segments that a rank has imported at a time
		Slots   int           `machine:"slots"`   // of a channel's ring
		Slot    machine.Bytes `machine:"slot"`    // flag, envelope and data of a message
		Entries int           `machine:"entries"` // transporter buffers of a channel
		Entry   machine.Bytes `machine:"entry"`   // bytes of one
		DMA     machine.Bytes `machine:"dma"`     // size of messages from which transporter buffers are filled by DMA
	} `machine:"scampi"`
}

//go:embed machines/*.machine
var files embed.FS

// prefix begins the names of the library's constants.
const prefix = "scampi."

// library returns the machines of this package, which are based on those of the hardware.
func library() *machine.Library {
	return machine.Built(files, "machines", nil).Over(hardware.Library())
}

// Load reads a machine with the library on it: a built-in one by name, or a user's own by path.
func Load(name string) (*Profile, error) {
	f, err := library().Load(name)
	if err != nil {
		return nil, err
	}
	return NewProfile(f)
}

// NewProfile returns the profile of a machine file that has been read.
func NewProfile(f *machine.File) (*Profile, error) {
	p := &Profile{File: f}
	ours := *f
	ours.Constants = nil
	theirs := ours
	for _, c := range f.Constants {
		if strings.HasPrefix(c.Name, prefix) {
			ours.Constants = append(ours.Constants, c)
		} else {
			theirs.Constants = append(theirs.Constants, c)
		}
	}
	if err := ours.Decode(p); err != nil {
		return nil, err
	}
	var err error
	if p.Hardware, err = hardware.NewProfile(&theirs); err != nil {
		return nil, err
	}
	return p, p.check()
}

// Bounds of the layout: of what the conduit needs, and of what a machine may take of memory.
const (
	leastEager = 512 // mpi.TransportLimits
	mostSlots  = 1 << 12
	mostSlot   = 64 << 10
)

// check refuses values for which the library has no meaning.
func (p *Profile) check() error {
	l := &p.Library
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, p.File.Errorf(format, args...))
		}
	}
	bad(l.Slots < 4 || l.Slots > mostSlots || l.Slots%4 != 0, "scampi.slots is %d, but must be a multiple of 4 from 4 to %d", l.Slots, mostSlots)
	bad(l.Slot < leastEager+slotHeader || l.Slot > mostSlot || l.Slot%align != 0, "scampi.slot is %d B, but must be a multiple of %d from %d to %d B",
		l.Slot, align, (leastEager+slotHeader+align-1)/align*align, mostSlot)
	bad(l.Imports < 2, "scampi.imports is %d, but must be at least 2: one may be in use by DMA", l.Imports)
	bad(l.Entries < 1 || l.Entries > mostSlots, "scampi.entries is %d, but must be from 1 to %d", l.Entries, mostSlots)
	bad(l.Entry < align || l.Entry%align != 0 || l.Entry%p.Hardware.DMA.Align != 0 || l.Entry > p.Hardware.DMA.Most,
		"scampi.entry is %d B, but must be a multiple of %d B and of dma.align, up to dma.most", l.Entry, align)
	if len(errs) == 0 {
		size := p.layout().size
		bad(size > int(p.Hardware.Limit.Segment), "a channel has %d B, more than limit.segment; make slots or entries fewer or smaller", size)
		bad(2*l.Entry > p.Hardware.Limit.Segment, "two buffers of scampi.entry for DMA are more than limit.segment")
		bad(p.maps(size)*l.Imports > p.Hardware.Limit.Maps, "%d imports of %d B need more map entries than limit.maps", l.Imports, size)
	}
	return errors.Join(errs...)
}

// maps returns how many map entries an import of size bytes takes.
func (p *Profile) maps(size int) int {
	page := int(p.Hardware.Limit.Map)
	return (size + page - 1) / page
}
