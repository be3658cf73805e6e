package myrinet

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// draft is a message between Reserve and Commit.
type draft struct {
	number uint64
	args   [core.MaxArgs]uint32
	text   []byte // GRIM's payload, kept for the next message
	long   []byte // that of a Long, likewise
	next   *draft // of those that are idle
}

// draft returns a draft with room for n bytes of GRIM's payload.
func (c *conduit) draft(n int) *draft {
	d := c.idle
	if d == nil {
		d = &draft{number: uint64(len(c.drafts))}
		c.drafts = append(c.drafts, d)
	} else {
		c.idle, d.next = d.next, nil
	}
	d.text = grown(d.text, n)
	return d
}

// grown returns n bytes, those of b if there are so many.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n, max(n, 2*cap(b)))
	}
	return b[:n]
}

// mostMedium returns the bytes of the largest Medium.
func (c *conduit) mostMedium() int {
	return min(c.endpoint.MostPayload(), int(c.site.profile.GRIM.Receive)-grim.HeaderSize) - mostHead
}

// Reserve implements core.Conduit. A request needs room in the channel's queue, behind not too many others, since replies wait there too; a Long needs it for the first message of its write. A reply needs none: what finds the queue full
// waits in the overflow queue. The message is made in the host's memory; it counts in the queue from Commit on, and should the room be gone by then, it
// waits too.
func (c *conduit) Reserve(op *core.Op) core.Result {
	n := wireSize(op.Hdr, op.Len)
	long := op.Hdr.Kind() == core.Long && op.Len > 0
	if !op.Hdr.Reply() {
		first := n
		if long {
			first = min(op.Len, c.endpoint.MostPayload())
		}
		if !c.endpoint.Room(first, c.depth) {
			return core.NoRoom
		}
	}
	d := c.draft(n)
	op.Slot, op.Args, op.Data = d.number, &d.args, nil
	switch {
	case long && op.Src == nil:
		d.long = grown(d.long, op.Len)
		op.Data = d.long
	case op.Hdr.Kind() == core.Medium && op.Len > 0:
		op.Data = d.text[headSize(op.Hdr):]
	}
	return core.Reserved
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	d := c.drafts[op.Slot]
	text := d.text[:wireSize(op.Hdr, op.Len)]
	first := encode(text, op.Hdr, &d.args, op.Off, op.Len)
	to := c.site.endpoint(op.Dst)
	var err error
	if op.Hdr.Kind() == core.Long && op.Len > 0 {
		err = c.write(op, d, to)
	}
	if err == nil {
		err = c.endpoint.Send(to, c.endpoint.Number(int(op.Hdr.Handler())), first, text)
	}
	d.next, c.idle = c.idle, d
	if err != nil {
		c.port.Fail(err)
	}
}

// write writes the payload of a Long to its place.
func (c *conduit) write(op *core.Op, d *draft, to grim.EndpointID) error {
	at, data := c.remote(op.Dst, op.Off), d.long
	if op.Data == nil {
		data = op.Src
	}
	err := c.endpoint.Write(to, at, data[:op.Len], grim.RMOptions{})
	if op.Data == nil && op.LC != nil {
		op.LC.Complete() // the bytes have been copied
	}
	return err
}
