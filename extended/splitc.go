package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
)

// Split-phase PUT and GET as Active Messages had them first, for Split-C (von Eicken,
// Culler, Goldstein and Schauser 1992): initiation and completion are apart, and completion
// shows at the rank that receives the data, as a flag that counts. A flag is 8 bytes of the
// receiver's segment at a multiple of 8, in the machine's byte order, and named by its
// offset; the owner sets it to 0, or goes on counting. Only the receiver's handlers raise
// it, so it moves while its owner polls.

const flagSize = 8

// SplitPut copies src to off of dst's segment and then adds 1 to dst's flag: the 8 bytes at
// offset flag, a multiple of 8, of dst's segment, a count that dst zeroes before anybody uses
// it, that no other data may touch, and that WaitFlag waits for. The caller gets no answer; src may be reused on return. A transfer longer than one message waits for
// all of it but the last. It may poll. dst may be the caller. Not allowed in a handler.
func (c *Context) SplitPut(dst core.Rank, off uint64, src []byte, flag uint64) error {
	ep := c.ep
	if err := c.admit("SplitPut", dst, off, len(src)); err != nil {
		return err
	}
	if err := ep.checkFlag("SplitPut", dst, flag); err != nil {
		return err
	}
	if to := ep.reach.of(dst); to != nil {
		ep.core.NoteInPlace(record.PutInPlace, dst, len(src))
		copy(to[off:], src)
		return c.raise(dst, flag)
	}
	if len(src) <= ep.piece.put {
		return c.RequestMedium(dst, handlerSplitPut, src, uint32(off), uint32(off>>32), uint32(flag), uint32(flag>>32))
	}
	if n := len(src) - ep.piece.long; n > 0 {
		if err := c.Put(dst, off, src[:n]); err != nil {
			return err
		}
		off, src = off+uint64(n), src[n:]
	}
	return c.RequestLong(dst, handlerSplitPutLong, src, off, uint32(flag), uint32(flag>>32))
}

// SplitGet copies n bytes at off of src's segment to offset to of the caller's own segment, and then
// adds 1 to the caller's flag, which is as for SplitPut but in the caller's segment. It returns before the
// bytes have come, but in a transfer of several messages it waits for all messages but the last. It may poll. src may be the caller. Not
// allowed in a handler.
func (c *Context) SplitGet(to uint64, src core.Rank, off uint64, n int, flag uint64) error {
	ep, me := c.ep, c.ep.Rank()
	if err := c.admit("SplitGet", src, off, n); err != nil {
		return err
	}
	if err := c.admit("SplitGet", me, to, n); err != nil {
		return err
	}
	if err := ep.checkFlag("SplitGet", me, flag); err != nil {
		return err
	}
	own := ep.Segment()[to : to+uint64(n)]
	if from := ep.reach.of(src); from != nil {
		ep.core.NoteInPlace(record.GetInPlace, src, n)
		copy(own, from[off:])
		return c.raise(me, flag)
	}
	if head := n - max(min(smallPut, ep.piece.get), ep.piece.longReply); head > 0 {
		if err := c.Get(own[:head], src, off); err != nil {
			return err
		}
		to, off, n = to+uint64(head), off+uint64(head), n-head
	}
	return c.RequestShort(src, handlerSplitGet, uint32(off), uint32(off>>32), uint32(n),
		uint32(to), uint32(to>>32), uint32(flag), uint32(flag>>32))
}

// Flag returns the count of the caller's flag at offset flag of its segment; see SplitPut.
func (c *Context) Flag(flag uint64) (uint64, error) {
	if err := c.ep.checkFlag("Flag", c.ep.Rank(), flag); err != nil {
		return 0, err
	}
	return c.ep.counter(flag).Load(), nil
}

// WaitFlag polls until the caller's flag at offset flag of its segment, see SplitPut, counts
// at least n: what was put by peers with the
// flag, and got with it, is in the segment then. Not allowed in a handler.
func (c *Context) WaitFlag(flag, n uint64) error {
	if err := c.ep.checkFlag("WaitFlag", c.ep.Rank(), flag); err != nil {
		return err
	}
	f := c.ep.counter(flag)
	return c.WaitFor("WaitFlag", func() bool { return f.Load() >= n })
}

// raise adds 1 to a rank's flag by a message, behind data that is there already.
func (c *Context) raise(rank core.Rank, flag uint64) error {
	return c.RequestShort(rank, handlerSplitPut, 0, 0, uint32(flag), uint32(flag>>32))
}

// checkFlag returns what is wrong with the place of a flag.
func (ep *Endpoint) checkFlag(call string, rank core.Rank, flag uint64) error {
	if !ep.inside(rank, flag, flagSize) || flag%flagSize != 0 {
		return ep.misuse(call, "offset %d is no place for a flag: %d bytes at a multiple of %d in rank %d's segment of %d bytes",
			flag, flagSize, flagSize, rank, ep.SegmentSize(rank))
	}
	return nil
}

// raised adds 1 to the flag that a message names.
func (ep *Endpoint) raised(t *core.Token, lo, hi uint32) {
	if _, ok := ep.own(t, lo, hi, flagSize); !ok {
		return
	}
	if lo%flagSize != 0 {
		ep.malformed(t, "a flag at offset %d", join(lo, hi))
		return
	}
	ep.counter(join(lo, hi)).Add(1)
}

// onSplitPut handles [off, off, flag, flag]: the payload goes to off, then the flag up.
func (ep *Endpoint) onSplitPut(t *core.Token, args []uint32, data []byte) {
	if len(args) != 4 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if to, ok := ep.own(t, args[0], args[1], len(data)); ok {
		copy(to, data)
		ep.raised(t, args[2], args[3])
	}
}

// onSplitPutLong handles a Long [flag, flag]: the payload is there.
func (ep *Endpoint) onSplitPutLong(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 2 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	ep.raised(t, args[0], args[1])
}

// onSplitGet handles [off, off, n, to, to, flag, flag]: it answers with a PUT.
func (ep *Endpoint) onSplitGet(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 7 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	from, ok := ep.own(t, args[0], args[1], int(args[2]))
	if !ok {
		return
	}
	var err error
	if len(from) <= min(smallPut, ep.piece.get) {
		err = t.ReplyMedium(handlerSplitPut, from, args[3], args[4], args[5], args[6])
	} else {
		err = t.ReplyLong(handlerSplitPutLong, from, join(args[3], args[4]), args[5], args[6])
	}
	if err != nil {
		ep.malformed(t, "it cannot be answered: %v", err)
	}
}
