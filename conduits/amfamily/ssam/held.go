package ssam

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// held is the state of a process for a layer above with a wait of its own (amfamily.Claimer).
type held struct {
	reply   int                 // cells of the largest reply; 0: requests are never held
	waiting []int               // by partner: requests that the last look at all messages has left where they are
	left    int                 // messages that this look has not come to
	kept    fifo.Queue[message] // by this look
}

// Hold implements amfamily.Claimer.
func (p *Process) Hold(reply int) error {
	if most := p.p.Window(p.Nodes()); reply > most {
		return p.p.File.Errorf("replies of %d bytes, but card.input has room for replies of %d among %d workstations", reply, most, p.Nodes())
	}
	p.reply = p.p.cells(reply)
	p.waiting = make([]int, p.Nodes())
	return nil
}

// Window returns how many bytes of data a message has at most among n workstations if its cells are to find room all together: a
// partner that has taken everything from its FIFO has not told of less than half a window. It is negative if there is no such message.
func (p *Profile) Window(n int) int {
	window := p.window(n, 1)
	return min(int(p.SSAM.Message), (window-window/2+1)*int(p.Card.Data)-headerBytes)
}

// Claim implements amfamily.Claimer: all cells of the message must have room. Requests of the partner that wait for room for
// their replies go first.
func (p *Process) Claim(to, length int) bool {
	p.Proc().Sync()
	q, cells := &p.partners[to], p.p.cells(length)
	if q.room < cells || q.unsettled >= p.p.SSAM.Depth || p.waiting[to] > 0 {
		return false
	}
	q.room -= cells
	q.unsettled++
	return true
}

// Send implements amfamily.Claimer. It takes cells that have come, and runs no handlers.
func (p *Process) Send(to, handler int, args [amfamily.Args]uint32, data []byte, claimed int) error {
	if err := p.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("ssam: %w", err)
	}
	p.partners[to].room += p.p.cells(claimed)
	return p.send(to, handler, false, args, data)
}

// look begins a look at all messages that are whole now. What comes while it lasts is for the next one, so that it ends.
func (p *Process) look() {
	clear(p.waiting)
	p.left = p.ready.Len()
}

// next returns the next message whose handler may run. A request for whose reply there is no room stays where it is, and so do
// those of the same partner behind it. It reports false after a look at all messages.
func (p *Process) next() (m message, ok bool) {
	if p.reply == 0 {
		return p.ready.Pop()
	}
	for ; p.left > 0; p.left-- {
		m, _ = p.ready.Pop()
		if m.reply || p.waiting[m.From] == 0 && p.partners[m.From].room >= p.reply {
			p.left--
			return m, true
		}
		p.waiting[m.From]++
		p.kept.Push(m)
	}
	for m, ok = p.ready.Pop(); ok; m, ok = p.ready.Pop() {
		p.kept.Push(m)
	}
	p.ready, p.kept = p.kept, p.ready
	return message{}, false
}
