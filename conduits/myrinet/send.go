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

// drafts are the drafts of a rank, of which some are idle.
type drafts struct {
	all  []*draft // by number
	idle *draft
}

// take returns a draft of a message, with op's windows in it.
func (ds *drafts) take(op *core.Op) *draft {
	d := ds.idle
	if d == nil {
		d = &draft{number: uint64(len(ds.all))}
		ds.all = append(ds.all, d)
	} else {
		ds.idle, d.next = d.next, nil
	}
	d.text = grown(d.text, wireSize(op.Hdr, op.Len))
	op.Slot, op.Args, op.Data = d.number, &d.args, nil
	switch {
	case isLong(op) && op.Src == nil:
		d.long = grown(d.long, op.Len)
		op.Data = d.long
	case op.Hdr.Kind() == core.Medium && op.Len > 0:
		op.Data = d.text[headSize(op.Hdr):]
	}
	return d
}

// give takes a draft back.
func (ds *drafts) give(d *draft) { d.next, ds.idle = ds.idle, d }

// isLong tells whether a message has a payload that goes into the segment.
func isLong(op *core.Op) bool { return op.Hdr.Kind() == core.Long && op.Len > 0 }

// written returns the payload of a Long.
func (d *draft) written(op *core.Op) []byte {
	if op.Data == nil {
		return op.Src[:op.Len]
	}
	return d.long[:op.Len]
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
	if !op.Hdr.Reply() {
		first := wireSize(op.Hdr, op.Len)
		if isLong(op) {
			first = min(op.Len, c.endpoint.MostPayload())
		}
		if !c.endpoint.Room(first, c.depth) {
			return core.NoRoom
		}
	}
	c.drafts.take(op)
	return core.Reserved
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	d := c.drafts.all[op.Slot]
	text := d.text[:wireSize(op.Hdr, op.Len)]
	first := encode(text, op.Hdr, &d.args, op.Off, op.Len)
	to := c.site.endpoint(op.Dst)
	var err error
	if isLong(op) {
		err = c.write(op, d, to)
	}
	if err == nil {
		err = c.endpoint.Send(to, c.endpoint.Number(int(op.Hdr.Handler())), first, text)
	}
	c.drafts.give(d)
	if err != nil {
		c.port.Fail(err)
	}
}

// write writes the payload of a Long to its place.
func (c *conduit) write(op *core.Op, d *draft, to grim.EndpointID) error {
	err := c.endpoint.Write(to, c.remote(op.Dst, op.Off), d.written(op), grim.RMOptions{})
	if op.Data == nil && op.LC != nil {
		op.LC.Complete() // the bytes have been copied
	}
	return err
}
