package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
)

// modelled is a rank's end on a modelled machine: the published layout, and what the adapter
// does without the target's processor. That is to put, by stores or by DMA, and to fetch and
// add. It is no core.Getter: a load stalls the processor for every word, so that to get, the
// layer above asks the owner to write, by messages.
//
// A put is stored under a sequence, and the rank goes on: its polls ask whether the answers are
// there, until the sequence says that all has arrived. From a size on a put is sent by DMA
// (native_dma.go). Additions are in native_atomic.go.
//
// All of it runs on the rank's coroutine, so nothing is locked.
type modelled struct {
	*paper
	from int // bytes from which puts go by DMA
	most int // bytes of the largest put

	targets     sparse.Table[target] // by rank
	room        int                  // puts that may be begun yet
	idle        *put                 // to be reused
	first, last *batch               // what was stored, oldest first
	engine      [dmaPuts]dmaPut
	failed      bool // the job has: nothing is begun or completed any more
}

// newModelled returns a rank's end on a modelled machine.
func newModelled(machine string) *modelled {
	c := &modelled{paper: newPaper()}
	c.machine = machine
	return c
}

// Attach implements core.Conduit.
func (c *modelled) Attach(a *core.Attachment) error {
	p, err := c.load(a)
	if err != nil {
		return err
	}
	settings, err := parseParams(c.profile(), a.Settings)
	if err != nil {
		return err
	}
	c.from, c.most = sizesOfPuts(settings.dmaFrom, p)
	c.private += dmaPuts * shm.RoundUp(c.most+dmaUnit)
	c.room = p.PIO.Outstanding // a put is a transaction at least
	return c.paper.Attach(a)
}

// AttachSegment implements core.Conduit.
func (c *modelled) AttachSegment(a *core.Attachment) ([]byte, error) {
	segment, err := c.paper.AttachSegment(a)
	if err != nil || c.control.firstUse {
		return segment, err // what follows is then made when it is first used
	}
	c.targets.Init(a.Boot.Size())
	for i := range c.engine {
		if c.from > c.most {
			break // none goes by DMA
		}
		if err := c.openDMA(&c.engine[i]); err != nil {
			return nil, err
		}
	}
	return segment, nil
}
