package sci

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
)

const (
	// dmaPuts is how many puts may be with the DMA engine: enough for the four channels of ntb,
	// and for the one of d339-2003 to find work when it has done some.
	dmaPuts = 4

	// The largest put is mostPerFrom times as large as the smallest that goes by DMA, and
	// mostLeast bytes at least. The layer above cuts larger ones into such pieces: so the engine
	// sends one while the processor copies the next.
	mostPerFrom = 4
	mostLeast   = 32 << 10
)

// sizesOfPuts returns the bytes from which puts go by DMA, given the setting, and those of the
// largest put.
func sizesOfPuts(dmaFrom int, p *hardware.Profile) (from, most int) {
	suggested := int(p.DMA.Suggested)
	if from = dmaFrom; from == 0 {
		from = suggested
	}
	from = max(from, 2*dmaUnit) // there is something between the ends that DMA cannot carry
	if most = from; most > stagingSize {
		most = suggested // none goes by DMA
	}
	most = max(mostLeast, min(mostPerFrom*most, stagingSize))
	return from, min(most, int(p.Limit.Segment))
}

// dmaPut is a place for a put that the DMA engine has a part in. The engine reads that from the
// rank's segment, if it lies there and aligned as its destination, and else from memory of its
// own, to which it is copied.
type dmaPut struct {
	staging
	put      *put // nil: the place is free
	peer     *remote
	src      *sisci.LocalSegment
	at, to   int // where in src and in the peer's segment begins what is not sent yet
	left     int // and its bytes; 0: all was sent
	size     int // bytes of a transfer
	attempts int
}

// putByDMA begins a put by DMA.
func (c *modelled) putByDMA(t *core.Transfer, peer *remote, long *sisci.RemoteMap) core.Result {
	d := c.freeDMA()
	if d == nil {
		return core.NoRoom
	}
	if d.queue == nil {
		if err := c.openDMA(d); err != nil {
			c.port.Fail(fmt.Errorf("sci: rank %d: make memory for DMA: %w", c.group[c.me], err))
			return c.fail()
		}
	}
	c.model.looked()
	p := c.take(t)
	p.dma, p.parts = d, 1
	p.head, p.tail = ragged(t.Off, len(t.Mem))
	c.source(d, p)
	d.put, d.peer, d.attempts = p, peer, 0
	d.at, d.to, d.left = d.at+p.head, p.off+p.head, len(p.mem)-p.head-p.tail
	d.size = min(d.left, d.most)
	c.transmit(d)
	if p.head+p.tail == 0 || c.failed {
		return core.Initiated
	}
	p.parts++
	return c.store(p, peer, long)
}

// openDMA makes the memory of a place and its queue, by AttachSegment or when it is first used. A put
// lies in a segment, so there is room for it aligned as there.
func (c *modelled) openDMA(d *dmaPut) error {
	return d.open(c.longs.dev, min(c.most+dmaUnit, int(c.model.profile.Limit.Segment)))
}

// freeDMA returns a free place, or nil.
func (c *modelled) freeDMA() *dmaPut {
	for i := range c.engine {
		if d := &c.engine[i]; d.put == nil {
			return d
		}
	}
	return nil
}

// source finds the memory from which the engine reads. The caller has its own back if that is
// copied.
func (c *modelled) source(d *dmaPut, p *put) {
	skew := p.off & (dmaUnit - 1)
	if at, ok := within(c.own, p.mem); ok && at&(dmaUnit-1) == skew {
		d.src, d.at = c.long, at
		return
	}
	copied := d.mem[skew:][:len(p.mem)]
	c.model.copied(copy(copied, p.mem))
	p.mem = copied
	d.src, d.at = d.seg, skew
	if p.lc != nil {
		p.lc.Complete()
		p.lc = nil
	}
}

// transmit has the engine begin the next transfer.
func (c *modelled) transmit(d *dmaPut) {
	to := c.longMap(d.peer).Segment()
	if err := d.post(d.src, d.at, to, d.to, min(d.size, d.left)); err != nil {
		c.unreached(d.peer, err)
		c.failed = true
	}
}

// followEngine looks what the engine has done.
func (c *modelled) followEngine() (complete int) {
	for i := range c.engine {
		if d := &c.engine[i]; d.put != nil && d.left > 0 && !c.failed {
			complete += c.follow(d)
		}
	}
	return complete
}

// follow looks whether a transfer has ended. The next one begins then, or the same again if
// a link failed it.
func (c *modelled) follow(d *dmaPut) (complete int) {
	c.model.tested()
	state := d.queue.State()
	if state == sisci.DMAPosted {
		return 0
	}
	n := min(d.size, d.left)
	err := d.queue.Reset()
	if state == sisci.DMADone {
		d.at, d.to, d.left = d.at+n, d.to+n, d.left-n
	} else {
		d.attempts++
		d.size = shorter(n)
	}
	switch {
	case err != nil:
		c.unreached(d.peer, err)
		c.failed = true
	case d.left == 0:
		return c.arrived(d.put)
	case d.attempts == sisci.Attempts:
		c.unreached(d.peer, state)
		c.failed = true
	default:
		c.transmit(d)
	}
	return 0
}

// tested charges the look at a flag: the engine stores there what state a queue is in.
func (m *model) tested() { m.proc.Charge(m.profile.Host.Test) }
