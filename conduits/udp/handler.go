package udp

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/core"
)

// handler implements am2.Handler: it carries what arrives to core. The bundle calls it with the
// rank's lock held.
type handler struct{ c *conduit }

// Arrived implements am2.Handler.
func (h handler) Arrived(m *am2.Message) (replied bool) {
	c := h.c
	if m.Index >= uint32(c.ranks) || m.Header > maxHeader {
		c.reject(m)
		return false
	}
	src, hdr := core.Rank(m.Index), core.Header(m.Header)
	c.mu.Leave()
	if hdr.Kind() == core.Long {
		replied = c.port.DispatchLong(src, hdr, m.Args, c.memory, m.Offset, uint64(m.Len), 0)
	} else {
		replied = c.port.Dispatch(src, hdr, m.Args, m.Data, 0)
	}
	c.mu.Enter()
	return replied
}

// reject ends the job because of a message that no rank sends.
func (c *conduit) reject(m *am2.Message) {
	c.mu.Leave()
	c.port.Fail(fmt.Errorf("udp: rank %d: message from %v: header %#x is none of core's", c.rank, m.Remote().Addr, m.Header))
	c.mu.Enter()
}

// maxHeader is the largest word that is a core.Header.
const maxHeader = 1<<16 - 1

// Place implements am2.Handler. A range outside the segment has no place; core ends the job
// when the message arrives.
func (h handler) Place(m *am2.Message) []byte {
	place, _ := core.Window(h.c.memory, m.Offset, uint64(m.Len))
	return place
}

// Returned implements am2.Handler: a message that cannot be delivered fails the job, unless its
// receiver has left at the end of it.
func (h handler) Returned(m *am2.Message, reason am2.Reason) { h.c.lose(m, reason) }

// Lost implements am2.Handler.
func (h handler) Lost(m *am2.Message, reason am2.Reason) { h.c.lose(m, reason) }

// lose ends the job because a peer cannot be reached.
func (c *conduit) lose(m *am2.Message, reason am2.Reason) {
	p := c.receiver(m.Remote().Addr)
	if p == nil || p.closed {
		return
	}
	err := c.lossOf(p, reason)
	c.mu.Leave()
	c.port.Fail(err)
	c.mu.Enter()
}

// lossOf says that a peer cannot be reached, and why.
func (c *conduit) lossOf(p *peer, reason am2.Reason) error {
	what := fmt.Sprintf("udp: rank %d (%v) ", p.rank, p.addr)
	switch reason {
	case am2.Unreachable:
		what += fmt.Sprintf("unreachable after %v; is its process alive?", c.am.Unreachable)
	default:
		what += fmt.Sprintf("cannot be reached: %v; has its process been replaced?", reason)
	}
	if n := c.counts; n != (counts{}) {
		what += fmt.Sprintf(" (rank %d dropped datagrams: %v)", c.rank, n)
	}
	return fmt.Errorf("%s", what)
}
