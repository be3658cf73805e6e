package lanai

import (
	"embed"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// Profile holds the constants of a NIC in a host. What each one means is said here; its value, and where that
// comes from, is in the machine file.
type Profile struct {
	SRAM struct {
		Size  machine.Bytes  `machine:"size"`
		Clock machine.Period `machine:"clock"` // two accesses in each period
		Width int            `machine:"width"` // bytes of an access
	} `machine:"sram"`

	// CPU is the LANai's RISC processor.
	CPU struct {
		Instruction machine.Period `machine:"instruction"` // with the memory to itself
		Data        machine.Chance `machine:"data"`        // of an instruction to access data
	} `machine:"cpu"`

	// Code is the dispatcher, in instructions.
	Code struct {
		Poll     int `machine:"poll"`     // to read the status register and find nothing, and go back
		Dispatch int `machine:"dispatch"` // besides, to find the handler of an event and call it
	} `machine:"dispatcher"`

	// Bus is the host's I/O bus, shared by the host's own accesses and the host DMA engine.
	Bus hw.Bus `machine:"bus"`

	// DMA is the host DMA engine.
	DMA hw.DMA `machine:"dma"`
}

//go:embed machines/*.machine
var files embed.FS

// Library returns the machines that come with the package.
func Library() *machine.Library { return machine.Built(files, "machines", nil) }

// Load reads a NIC: a built-in one by name, or a user's own by path.
func Load(name string) (*Profile, error) {
	return machine.Load(Library(), name, func(f *machine.File) (*Profile, error) {
		return machine.Checked(f, (*Profile).Check)
	})
}

// Free makes a NIC of the profile that runs in real time: the host's own processor carries out what the LANai, the bus and the DMA engine do, and takes the time that this
// takes. Instructions, accesses to the bus and bursts take no time of the loop. The SRAM keeps its size.
func (p *Profile) Free() {
	p.CPU.Instruction, p.Bus.Clock = 0, 0
	p.DMA.Start, p.DMA.Fetch, p.DMA.Complete = 0, 0, 0
	p.DMA.Burst = freeBurst
}

// freeBurst is more than any control block has.
const freeBurst = 1 << 30

// maxCount bounds counts in machine files.
const maxCount = 1 << 20

// Check refuses values for which the model has no meaning.
func (p *Profile) Check(c *machine.Checks) {
	c.Bad(p.SRAM.Size < 1024 || p.SRAM.Size > 1<<30, "sram.size is %d B, but must be from 1 KB to 1024 MB", p.SRAM.Size)
	c.Bad(p.SRAM.Width < 1 || p.SRAM.Width > 64, "sram.width is %d, but must be from 1 to 64 bytes", p.SRAM.Width)
	c.Bad(p.CPU.Data > machine.Certain, "cpu.data is more than certain")
	c.Bad(p.CPU.Instruction < p.SRAM.Clock, "cpu.instruction is faster than sram.clock: an instruction takes an access of its own")
	c.In("dispatcher.poll", p.Code.Poll, 1, maxCount)
	c.Bad(p.Code.Dispatch > maxCount, "dispatcher.dispatch is more than %d", maxCount)
	c.Bad(p.Bus.Width < 1 || p.Bus.Width > 64, "bus.width is %d, but must be from 1 to 64 bytes", p.Bus.Width)
	c.Bad(p.Bus.Write > maxCount || p.Bus.Read > maxCount, "bus.write and bus.read must not be more than %d cycles", maxCount)
	c.Bad(bits.OnesCount64(uint64(p.DMA.Burst)) != 1 || p.DMA.Burst > 64<<10, "dma.burst is %d B, but must be a power of two up to 64 KB", p.DMA.Burst)
	c.Bad(p.DMA.Outstanding != 1, "dma.outstanding is %d, but the engine waits for each burst: 1", p.DMA.Outstanding)
}
