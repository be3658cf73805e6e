package lanai

import (
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Bytes is an amount of memory.
type Bytes = machine.Bytes

// NIC is a network interface card in a host.
type NIC struct {
	Bus  vtime.Resource // the host's I/O bus
	SRAM *SRAM
	CPU  *CPU
	DMA  HostDMA

	loop    *vtime.Loop
	profile *Profile
}

// New returns a NIC at a link of a rate, with an empty SRAM and no program.
func New(loop *vtime.Loop, p *Profile, link machine.Rate) *NIC {
	n := &NIC{SRAM: NewSRAM(p.SRAM.Size), CPU: newCPU(loop, p, link), loop: loop, profile: p}
	n.DMA.nic = n
	return n
}

// Loop returns the loop that the NIC is on.
func (n *NIC) Loop() *vtime.Loop { return n.loop }

// Profile returns the constants of the NIC, which are not to be changed.
func (n *NIC) Profile() *Profile { return n.profile }

// Works says that a packet begins or ends to enter (Receive) or to leave (Send): the engine takes its share of the
// memory meanwhile.
func (n *NIC) Works(e Engine, works bool) { n.CPU.works(e, works) }

// HostWrite has the host write so many bytes to the NIC by its processor, and then calls to.Fire(a, b), unless to
// is nil. The host's accesses to the memory are always granted.
func (n *NIC) HostWrite(bytes int, to vtime.Target, a, b uint64) {
	if t := n.hostWrite(bytes); to != nil {
		n.loop.At(t, to, a, b)
	}
}

// HostRead has the host read so many bytes from the NIC by its processor, which waits for them, and returns when it has them.
func (n *NIC) HostRead(bytes int) vtime.Time { return n.access(n.profile.Bus.ReadTime(bytes)) }

// hostWrite returns when a write of the host's processor that begins now is in the SRAM.
func (n *NIC) hostWrite(bytes int) vtime.Time { return n.access(n.profile.Bus.WriteTime(bytes)) }

// access returns when an access of the host's processor that begins now and takes a time of the bus is over.
func (n *NIC) access(take vtime.Time) vtime.Time {
	if take == 0 {
		return n.loop.Now()
	}
	free := n.Bus.Use(n.loop.Now(), take)
	n.loop.At(free-take, (*access)(n), 1, 0)
	n.loop.At(free, (*access)(n), 0, 0)
	return free
}

// access is an access of the host's processor to the SRAM, which begins or ends.
type access NIC

// Fire implements vtime.Target.
func (a *access) Fire(begins, _ uint64) { (*NIC)(a).CPU.works(HostBus, begins == 1) }

// Label implements vtime.Labelled.
func (a *access) Label(_, _ uint64) string { return "host access" }
