package myrinet

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// Reserve implements core.Conduit. A request needs room in the ring of orders, and nothing that waits for it. A reply needs none: what finds the ring full waits in the rank's memory.
func (c *live) Reserve(op *core.Op) core.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !op.Hdr.Reply() && !c.room(c.orders, wireSize(op.Hdr, op.Len)) {
		return core.NoRoom
	}
	c.drafts.take(op)
	return core.Reserved
}

// room reports whether an order with n bytes would leave at once. The caller has c.mu.
func (c *live) room(o *outlet, n int) bool {
	ok := o.room(min(n, c.most))
	if !ok {
		c.note()
	}
	return ok
}

// note has Poll look whether there is room, if somebody waits for that. The caller has c.mu.
func (c *live) note() { c.pending.Store(c.orders.waits() || c.puts.waits()) }

// piece is how many bytes of remote memory an order carries at most: what a message of GRIM has room for.
func (c *live) piece() int { return c.most - writeHead }

// Commit implements core.Conduit.
func (c *live) Commit(op *core.Op) {
	c.mu.Lock()
	d := c.drafts.all[op.Slot]
	to := c.site.endpoint(op.Dst)
	if isLong(op) {
		c.write(c.orders, to, c.remote(op.Dst, op.Off), d.written(op), 0)
	}
	text := d.text[:wireSize(op.Hdr, op.Len)]
	c.order = record{kind: orderSend, peer: to, handler: uint32(op.Hdr.Handler()), data: text}
	c.order.args = encode(text, op.Hdr, &d.args, op.Off, op.Len)
	c.orders.send(&c.order)
	c.drafts.give(d)
	c.note()
	c.mu.Unlock()
	c.ring()
	if isLong(op) && op.Data == nil && op.LC != nil {
		op.LC.Complete() // the bytes have been copied
	}
}

// ring tells the card of orders. If the card is in this process the rank drives it itself.
func (c *live) ring() {
	if c.with == nil || !c.with.attend(c.turn) {
		c.near.door.ring()
	}
}

// write orders that bytes are written, in as many orders as they need, and returns how many these are.
func (c *live) write(o *outlet, to grim.EndpointID, at grim.Remote, data []byte, op uint32) (n int) {
	for {
		k := min(len(data), c.piece())
		c.order = record{kind: orderWrite, peer: to, op: op, at: at, data: data[:k]}
		o.send(&c.order)
		n++
		at.Offset += uint64(k)
		if data = data[k:]; len(data) == 0 {
			return n
		}
	}
}

// remote returns a place in a rank's segment.
func (c *live) remote(r core.Rank, off uint64) grim.Remote {
	return grim.Remote{Key: c.keys[r], Offset: off}
}
