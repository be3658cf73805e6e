package lanai

import (
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Engine is what competes with the processor for the memory. Each asks for at most one access per clock, and comes
// before the processor; among each other the first one in this order comes first.
type Engine uint8

// The engines, by priority.
const (
	HostBus Engine = iota // the host's accesses and the host DMA engine
	Receive               // network to SRAM
	Send                  // SRAM to network

	engines = iota
)

// EngineNames are what the engines are called in reports.
var EngineNames = [engines]string{"host bus", "receive DMA", "send DMA"}

// memory counts which engines are at work, and how fast the processor is meanwhile.
type memory struct {
	pace [1 << engines]vtime.Time // of an instruction, by the set of engines at work
	work [engines]int             // transfers under way of each engine
	mask uint8                    // the engines at work
}

const million = 1_000_000

// most is what engines take of the two accesses in each clock, in millionths; the processor has the rest, lest it
// stands still.
const most = 2*million - million/50

// newMemory works out the pace of the processor for every set of engines.
//
// An engine at work takes a share of all clocks, the same in each. An instruction needs one access, one with data
// two. In a clock the processor gets what is left of two accesses. So with the probabilities p0 and p1 that
// engines take none or one, an instruction without data waits for a clock with a free access, 1/(p0+p1) clocks,
// and one with data takes both in one clock, or one after the other:
//
//	e1 = 1/(p0+p1),   e2 = (1 + p1·e1)/(p0+p1).
//
// Engines that would take more than there is get what engines before them leave. That they are slower then is not
// modelled: it concerns the send DMA alone, and of the NICs that come with the package that of LANai 4, while it
// sends, receives and moves bytes of the host at once.
func newMemory(p *Profile, link machine.Rate) (m memory) {
	share := p.shares(link)
	for set := range m.pace {
		p0, p1 := int64(million), int64(0) // in millionths
		left := int64(most)
		for e, u := range share {
			if set>>e&1 != 0 {
				u = min(u, left)
				left -= u
				p0, p1 = p0*(million-u)/million, (p1*(million-u)+p0*u)/million
			}
		}
		e1 := million * million / (p0 + p1)
		e2 := (million + p1*e1/million) * million / (p0 + p1)
		data := int64(p.CPU.Data) / 1000 // from parts per billion
		clocks := ((million-data)*e1 + data*e2) / million
		m.pace[set] = vtime.Time(int64(p.CPU.Instruction) * clocks / million)
	}
	return m
}

// shares returns what each engine takes of the clocks while it works, in millionths, with a link of that rate.
func (p *Profile) shares(link machine.Rate) [engines]int64 {
	share := func(bytes int64, in vtime.Time) int64 {
		words := bytes * million / int64(p.SRAM.Width)
		return min(million, words*int64(p.SRAM.Clock)/max(1, int64(in)))
	}
	burst := int(p.DMA.Burst)
	net := link.Time(1 << 20)
	return [engines]int64{
		HostBus: share(int64(burst), min(p.Bus.ReadTime(burst), p.Bus.WriteTime(burst))),
		Receive: share(1<<20, net),
		Send:    share(1<<20, net),
	}
}

// set says that a transfer of an engine begins or ends, and returns whether the set of engines at work changes.
func (m *memory) set(e Engine, works bool) bool {
	if works {
		m.work[e]++
	} else {
		m.work[e]--
	}
	old := m.mask
	if m.work[e] > 0 {
		m.mask |= 1 << e
	} else {
		m.mask &^= 1 << e
	}
	return m.mask != old
}
