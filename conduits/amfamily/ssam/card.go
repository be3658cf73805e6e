package ssam

import (
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A cell is on a connection: of a program, from a workstation to another, for requests or for replies.
type cell struct {
	from, to int
	program  int
	reply    bool
	last     bool // of its message
	seq      uint16
	room     int // cells that the receiver of this cell may send besides
	data     []byte
}

// Card is an SBA-100 at a port of the switch.
type Card struct {
	Cells      uint64 // that have come
	Overflowed uint64 // cells lost because the input FIFO was full
	Fullest    int    // cells in the input FIFO at once, at most

	loop  *vtime.Loop
	p     *Profile
	all   []*Card
	up    hw.Link // to the switch
	down  hw.Link // from it
	leave fifo.Queue[vtime.Time]
	cross fifo.Queue[cell] // on their way to the switch
	come  fifo.Queue[cell] // on their way from it
	input fifo.Queue[cell]
	ready func() // a cell has come

	idle [][]byte // memory of cells that nobody uses any more
}

// newCards returns the cards of n workstations.
func newCards(loop *vtime.Loop, p *Profile, n int) []*Card {
	all := make([]*Card, n)
	for i := range all {
		all[i] = &Card{loop: loop, p: p, all: all}
	}
	return all
}

// full tells until when the output FIFO has no room, or 0 if it has.
func (c *Card) full() vtime.Time {
	for c.leave.Len() > 0 && *c.leave.At(0) <= c.loop.Now() {
		c.leave.Drop()
	}
	if c.leave.Len() < c.p.Card.Output {
		return 0
	}
	return *c.leave.At(0)
}

// send puts a cell into the output FIFO, which must have room.
func (c *Card) send(x cell) {
	_, tail := c.up.Carry(c.loop.Now(), c.p.Link.Rate.Time(int(c.p.Link.Cell)))
	c.leave.Push(tail)
	c.cross.Push(x)
	c.loop.At(tail+c.p.Link.Cable+c.p.Switch.Time, c, switched, 0)
}

// The events of a card.
const (
	switched uint64 = iota // a cell of the card has crossed the switch
	arrived                // a cell has come to the card
)

var cardEvents = [...]string{"switched", "arrived"}

// Label implements vtime.Labelled.
func (c *Card) Label(event, _ uint64) string { return "cell " + cardEvents[event] }

// Fire implements vtime.Target.
func (c *Card) Fire(event, _ uint64) {
	switch event {
	case switched:
		x, _ := c.cross.Pop()
		to := c.all[x.to]
		_, tail := to.down.Carry(c.loop.Now(), c.p.Link.Rate.Time(int(c.p.Link.Cell)))
		to.come.Push(x)
		c.loop.At(tail+c.p.Link.Cable, to, arrived, 0)
	case arrived:
		x, _ := c.come.Pop()
		c.Cells++
		if c.input.Len() == c.p.Card.Input {
			c.Overflowed++
			c.recycle(x)
			return
		}
		c.input.Push(x)
		c.Fullest = max(c.Fullest, c.input.Len())
		if c.ready != nil {
			c.ready()
		}
	}
}

// memory returns memory for a cell.
func (c *Card) memory() []byte {
	last := len(c.idle) - 1
	if last < 0 {
		return make([]byte, 0, c.p.Card.Data)
	}
	b := c.idle[last]
	c.idle = c.idle[:last]
	return b[:0]
}

// recycle says that nobody uses a cell any more that has come to the card: its memory is its sender's again.
func (c *Card) recycle(x cell) {
	from := c.all[x.from]
	from.idle = append(from.idle, x.data)
}
