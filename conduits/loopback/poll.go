package loopback

import "github.com/aqueduct-go/aqueduct/core"

// Poll implements core.Conduit.
func (c *conduit) Poll(budget int) int {
	if c.model != nil {
		c.model.proc.Sync()
		c.model.proc.Charge(pollCost)
	}
	c.bell.look()
	n := 0
	for ; n < budget; n++ {
		m, ok := c.self.inbox.pop()
		if !ok {
			break
		}
		c.handle(m)
	}
	if c.mover != nil {
		n += c.mover.poll(budget)
	}
	return n
}

// handle runs the message's handler, and counts when its exchange is over.
func (c *conduit) handle(m *message) {
	src, hdr := m.src, m.hdr
	data := m.data[:min(m.n, len(m.data))]
	if m.from != nil {
		data = m.from
	}
	replied := false
	if hdr.Kind() == core.Long {
		if w, ok := core.Window(c.self.memory, m.off, uint64(m.n)); ok {
			copy(w, data[:m.n])
		}
		m.read()
		replied = c.port.DispatchLong(src, hdr, &m.args, c.self.memory, m.off, uint64(m.n), 0)
	} else {
		replied = c.port.Dispatch(src, hdr, &m.args, data[:m.n], 0)
		m.read()
	}
	underway := m.underway
	m.home.put(m)
	switch {
	case hdr.Reply():
		c.underway.At(int(src)).n.Add(-1)
	case !replied:
		if left := underway.n.Add(-1); left == int64(c.depth)-1 {
			c.nodes[src].notify() // it may wait for room, of which there was none
		}
	}
}

// read tells a caller who lent the payload that it has been read.
func (m *message) read() {
	if m.lc != nil {
		m.lc.Complete()
		m.lc = nil
	}
}
