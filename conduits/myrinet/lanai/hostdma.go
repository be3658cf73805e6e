package lanai

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Chains is how many chains of control blocks the host DMA engine has. The first has the highest priority.
const Chains = 4

// BlockSize is what a control block takes of the SRAM: next block, addresses, length and flags.
const BlockSize = 24

// HostDMA is the engine that moves bytes between the SRAM and the host's memory. It works on one chain of control
// blocks at a time, that of the highest priority. A running block is finished before it switches to a chain of a
// higher priority (Santos and Froehlich, section 3).
type HostDMA struct {
	nic     *NIC
	channel hw.Channel
	chains  [Chains]DMAChain
}

// Direction is which way the bytes of a control block go.
type Direction uint8

// The directions.
const (
	FromHost Direction = iota
	ToHost
)

// Block is a control block.
type Block struct {
	Direction Direction
	Host      []byte // in the host's memory, which must be registered, that is stay where it is
	SRAM      []byte // as many bytes of the NIC's memory
	Terminal  bool   // the chain ends here
	Signal    bool   // the chain's event is raised when the block has been carried out

	// Written, if not nil, is fired with Word when the block has been carried out: it stands for the program of the
	// host that looks at the memory again and again.
	Written vtime.Target
	Word    uint64
}

// DMAChain is a chain of control blocks in the SRAM, a ring of a fixed size. Blocks are appended by the host,
// which writes them through its bus, or by the LANai; either starts the chain. It is then carried out up to a
// terminal block.
type DMAChain struct {
	dma   *HostDMA
	chain hw.Chain
	name  string
	event Event

	room   int
	blocks fifo.Queue[Block] // that have not been carried out
	done   uint64            // blocks that have been
	ends   int               // terminal blocks among them
	coming int               // starts by the host that are on the bus
	due    int               // times that the chain has been started and has not come to a terminal block
	first  uint64            // number of the block that the run at work began with
	stop   uint64            // number of the block after its terminal one

	pos, n int // of the burst that is on the bus
}

// Open makes chain i ready, with a ring of so many blocks in the SRAM. event is raised for blocks with a completion
// signal. The name is for reports.
func (d *HostDMA) Open(i int, name string, blocks int, event Event) (*DMAChain, error) {
	if i < 0 || i >= Chains {
		return nil, fmt.Errorf("lanai: chain %d; the host DMA engine has %d", i, Chains)
	}
	c := &d.chains[i]
	if c.room > 0 {
		return nil, fmt.Errorf("lanai: chain %d of the host DMA engine is %q already", i, c.name)
	}
	if blocks < 1 {
		return nil, fmt.Errorf("lanai: a chain of %d control blocks", blocks)
	}
	if err := d.nic.SRAM.Reserve("chain "+name, BlockSize*Bytes(blocks)); err != nil {
		return nil, err
	}
	*c = DMAChain{dma: d, name: name, event: event, room: blocks}
	c.chain = hw.NewChain(d.nic.loop, &d.nic.profile.DMA, &d.channel, (*chainWork)(c))
	c.chain.Priority = Chains - i
	return c, nil
}

// ErrChainFull says that a chain's ring has no room for another block.
var ErrChainFull = errors.New("lanai: the chain of control blocks is full")

// Append adds a block at the end of the chain. It does not start the chain.
func (c *DMAChain) Append(b Block) error {
	switch {
	case len(b.Host) != len(b.SRAM):
		return fmt.Errorf("lanai: a control block of %d B of the host and %d B of the SRAM; both must be as long", len(b.Host), len(b.SRAM))
	case len(b.Host) == 0:
		return errors.New("lanai: an empty control block")
	case c.blocks.Len() == c.room:
		return ErrChainFull
	}
	c.blocks.Push(b)
	if b.Terminal {
		c.ends++
	}
	return nil
}

// Room returns how many blocks can be appended.
func (c *DMAChain) Room() int { return c.room - c.blocks.Len() }

// Finished returns how many blocks have been carried out so far.
func (c *DMAChain) Finished() uint64 { return c.done }

// Active tells whether the chain has been started, and has not come to its terminal block.
func (c *DMAChain) Active() bool { return c.chain.Posted() }

// Start has the engine carry the chain out, up to the first terminal block; there must be one for each start. The
// LANai calls it, or the host by HostStart. A chain that is started while it is active goes on behind its terminal
// block.
func (c *DMAChain) Start() error {
	if c.ends <= c.due {
		return fmt.Errorf("lanai: chain %q is started with no terminal block in it", c.name)
	}
	if c.due++; !c.chain.Posted() {
		c.post()
	}
	return nil
}

// HostStart is Start by the host: a write to the engine's register through the bus.
func (c *DMAChain) HostStart() error {
	if c.ends <= c.due+c.coming {
		return fmt.Errorf("lanai: chain %q is started with no terminal block in it", c.name)
	}
	c.coming++
	nic := c.dma.nic
	nic.loop.At(nic.hostWrite(registerWrite), (*chainStart)(c), 0, 0)
	return nil
}

// registerWrite is how many bytes a write to a register has.
const registerWrite = 4

// chainStart is the write of HostStart on its way.
type chainStart DMAChain

// Fire implements vtime.Target.
func (s *chainStart) Fire(_, _ uint64) {
	s.coming--
	_ = (*DMAChain)(s).Start() // if the LANai has started the chain meanwhile, nothing is left to be started
}

// Label implements vtime.Labelled.
func (s *chainStart) Label(_, _ uint64) string { return "host starts chain " + s.name }

// block returns a block by its number, of those that have not been carried out.
func (c *DMAChain) block(i uint64) *Block { return c.blocks.At(int(i - c.done)) }

// post starts a run.
func (c *DMAChain) post() {
	c.first, c.stop = c.done, c.done+1
	for !c.block(c.stop - 1).Terminal {
		c.stop++
	}
	c.chain.Post(c.dma.nic.loop.Now())
}

// chainWork is what a chain is to the engine.
type chainWork DMAChain

// Block implements hw.Work. Bursts are aligned to the beginning of the block.
func (w *chainWork) Block(i int) (off, size int, ok bool) {
	n := w.first + uint64(i)
	if n == w.stop {
		return 0, 0, false
	}
	return 0, len((*DMAChain)(w).block(n).Host), true
}

// Halted implements hw.Work.
func (w *chainWork) Halted() bool { return false }

// Send implements hw.Work: a burst crosses the bus.
func (w *chainWork) Send(_, pos, n int) {
	c := (*DMAChain)(w)
	nic := c.dma.nic
	c.pos, c.n = pos, n
	take := nic.profile.Bus.WriteTime(n)
	if c.blocks.At(0).Direction == FromHost {
		take = nic.profile.Bus.ReadTime(n)
	}
	free := nic.Bus.Use(nic.loop.Now(), take)
	nic.loop.At(free-take, w, burstBegins, 0)
	nic.loop.At(free, w, burstEnds, 0)
	c.chain.Sent(free)
}

// The events of a chain besides those of hw.Chain.
const (
	burstBegins uint64 = 100 + iota
	burstEnds
)

// Fire implements vtime.Target.
func (w *chainWork) Fire(event, b uint64) {
	c := (*DMAChain)(w)
	switch event {
	case burstBegins:
		c.dma.nic.CPU.works(HostBus, true)
	case burstEnds:
		c.dma.nic.CPU.works(HostBus, false)
		c.crossed()
	default:
		c.chain.Fire(event, b)
	}
}

// Label implements vtime.Labelled.
func (w *chainWork) Label(event, _ uint64) string {
	what := "burst begins"
	switch event {
	case burstBegins:
	case burstEnds:
		what = "burst ends"
	default:
		what = hw.ChainEvents[event]
	}
	return "host DMA " + w.name + ": " + what
}

// crossed moves the bytes of the burst, and ends the block with its last.
func (c *DMAChain) crossed() {
	b := c.blocks.At(0)
	end := c.pos + c.n
	if b.Direction == FromHost {
		copy(b.SRAM[c.pos:end], b.Host[c.pos:end])
	} else {
		copy(b.Host[c.pos:end], b.SRAM[c.pos:end])
	}
	if end == len(b.Host) {
		was := *b
		c.blocks.Drop()
		c.done++
		if was.Terminal {
			c.ends--
			c.due--
		}
		if was.Signal {
			c.dma.nic.CPU.Raise(c.event)
		}
		if was.Written != nil {
			was.Written.Fire(was.Word, 0)
		}
	}
	c.chain.Answered()
}

// Done implements hw.Work.
func (w *chainWork) Done(bool) {
	if w.due > 0 {
		(*DMAChain)(w).post()
	}
}
