package loopback

import "github.com/aqueduct-go/aqueduct/core"

// Reserve implements core.Conduit: a request takes one of the pair's credits, a reply
// travels on that of its request.
func (c *conduit) Reserve(op *core.Op) core.Result {
	if !op.Hdr.Reply() {
		credits := &c.self.credits[op.Dst].n
		if credits.Load() == 0 {
			return core.NoRoom
		}
		credits.Add(-1) // only this rank takes credits, one Reserve at a time
	}
	m := c.self.pool.get()
	op.Slot = uint64(m.id)
	op.Args = &m.args
	op.Data = nil
	// A handler gets a Medium's payload itself, which is therefore never the caller's
	// memory, and begins like every allocation of that size at a multiple of 8.
	if op.Src == nil || op.Hdr.Kind() == core.Medium {
		if cap(m.data) < op.Len {
			m.data = make([]byte, max(op.Len, minBuffer))
		}
		op.Data = m.data[:op.Len]
	}
	return core.Reserved
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	m := c.self.pool.byID(op.Slot)
	m.src, m.hdr, m.n, m.off = c.rank, op.Hdr, op.Len, op.Off
	if op.Data == nil {
		m.from, m.lc = op.Src, op.LC
	}
	if dst := c.nodes[op.Dst]; c.model != nil {
		c.model.carry(m, dst)
	} else {
		dst.deliver(m)
	}
}

// deliver puts an arrived message into the inbox and wakes the rank.
func (n *node) deliver(m *message) {
	n.inbox.push(m)
	n.notify()
}

// notify tells the rank that something has come: a message, or room to send.
func (n *node) notify() {
	if n.proc != nil {
		n.proc.Arrive()
	} else {
		n.bell.ring()
	}
}
