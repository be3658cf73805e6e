package conduit

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/core"
)

// Poll implements core.Conduit: the rank's own messages, then the node's. How many of the latter a poll takes is the system's
// matter; each system bounds how many can have come.
func (c *conduit) Poll(budget int) int {
	own := 0
	for ; own < budget; own++ {
		st, ok := c.own.Pop()
		if !ok {
			break
		}
		c.deliverOwn(st)
	}
	n, err := c.node.Poll()
	if err != nil {
		c.port.Fail(fmt.Errorf("%s: rank %d: %w", c.name, c.rank, err))
	}
	return own + n
}

// deliverOwn runs the handler of a message that the rank has sent to itself.
func (c *conduit) deliverOwn(st *stage) {
	c.args, c.serving = st.args, nil
	replied := c.deliver(c.rank, st.hdr, st.off, st.memory[:st.n])
	if st.hdr.Reply() || !replied {
		c.asked--
	}
	c.idle = append(c.idle, st)
}

// arrive runs the handler of a message of the system.
func (c *conduit) arrive(m *amfamily.Message) {
	src := c.group[m.From]
	if m.Long != nil {
		c.arriveLong(src, m)
		return
	}
	hdr, off, payload, ok := unpack(&m.Args, m.Data, &c.args)
	if !ok {
		c.port.Fail(fmt.Errorf("%s: rank %d: message from rank %d: header %#x with %d bytes of data", c.name, c.rank, src, m.Args[0], len(m.Data)))
		return
	}
	c.serving = m
	c.deliver(src, hdr, off, payload)
}

// arriveLong runs the handler of a Long whose payload the system has put at its place, if there is one.
func (c *conduit) arriveLong(src core.Rank, m *amfamily.Message) {
	l := m.Long
	hdr := core.Header(l.Header)
	if l.Header>>16 != 0 || hdr.Kind() != core.Long || hdr.NArgs() != len(l.Args) {
		c.port.Fail(fmt.Errorf("%s: rank %d: message from rank %d: header %#x of a Long with %d arguments", c.name, c.rank, src, l.Header, len(l.Args)))
		return
	}
	copy(c.args[:], l.Args)
	c.serving = m
	c.port.DispatchLong(src, hdr, &c.args, c.memory, l.Offset, uint64(l.Len), 0)
}

// deliver brings a payload to its place and runs the handler. The place of a Medium is memory that begins at a multiple of
// 8, whatever the payload does; the modelled processor gives its handler the payload where it is.
func (c *conduit) deliver(src core.Rank, hdr core.Header, off uint64, payload []byte) (replied bool) {
	n := len(payload)
	if hdr.Kind() != core.Long {
		copy(c.medium, payload)
		return c.port.Dispatch(src, hdr, &c.args, c.medium[:n], 0)
	}
	if w, ok := core.Window(c.memory, off, uint64(n)); ok {
		c.proc.Charge(c.site.system.copied(n))
		copy(w, payload)
	}
	return c.port.DispatchLong(src, hdr, &c.args, c.memory, off, uint64(n), 0)
}
