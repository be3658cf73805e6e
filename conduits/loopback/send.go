package loopback

import "github.com/aqueduct-go/aqueduct/core"

// Reserve implements core.Conduit: a request is one of the pair's that may be under way, and
// its reply is so with it.
func (c *conduit) Reserve(op *core.Op) core.Result {
	var underway *count
	if !op.Hdr.Reply() {
		underway = c.underway.At(int(op.Dst))
		if underway.n.Load() >= int64(c.depth) {
			return core.NoRoom
		}
		underway.n.Add(1) // only this rank adds, one Reserve at a time
	}
	m := c.pool.get()
	m.underway = underway
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
	m := c.pool.byID(op.Slot)
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
