package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
)

// LocalCompletion says when the source of a put may be reused.
type LocalCompletion uint8

const (
	// LCNow: on return of the call (GEX_EVENT_NOW; GASNet-1 non-bulk).
	LCNow LocalCompletion = iota
	// LCDefer: when the put is complete (GEX_EVENT_DEFER; GASNet-1 bulk).
	LCDefer
	// LCLeaf: with an event of its own, which Leaf returns, of explicit puts; in the LC
	// category of implicit ones (GEX_EVENT_GROUP).
	LCLeaf
)

// valid reports whether lc is one of the above.
func (lc LocalCompletion) valid() bool { return lc <= LCLeaf }

// String names the value.
func (lc LocalCompletion) String() string {
	switch lc {
	case LCNow:
		return "LCNow"
	case LCDefer:
		return "LCDefer"
	case LCLeaf:
		return "LCLeaf"
	}
	return fmt.Sprintf("LocalCompletion(%d)", uint8(lc))
}

// smallPut is the size up to which a put or get by messages is one Medium, which costs a
// copy more than a Long and one thing less to look up.
const smallPut = 4096

// Put copies src to off of dst's segment and returns when everybody sees it there. It may
// poll. dst is a rank of the job, not of a team, and may be the caller. Not allowed in a
// handler.
func (c *Context) Put(dst core.Rank, off uint64, src []byte) error {
	_, err := c.put(blocking, dst, off, src, LCDefer)
	return err
}

// PutNB initiates a put and returns its event. src may be reused as lc says. Not allowed
// in a handler.
func (c *Context) PutNB(dst core.Rank, off uint64, src []byte, lc LocalCompletion) (Event, error) {
	return c.put(explicit, dst, off, src, lc)
}

// PutNBI initiates an implicit put: a part of the open access region, or else of what
// TestNBI and WaitNBI synchronise. src may be reused as lc says. Not allowed in a handler.
func (c *Context) PutNBI(dst core.Rank, off uint64, src []byte, lc LocalCompletion) error {
	_, err := c.put(implicit, dst, off, src, lc)
	return err
}

// put is all forms of puts. Its callers are inlined, so it is one call away from the program; where the
// segment is reached and nothing is wrong it is all there is.
func (c *Context) put(f form, dst core.Rank, off uint64, src []byte, lc LocalCompletion) (Event, error) {
	if to := place(c.ep.direct, dst, off, len(src)); to != nil && lc.valid() {
		move(to, src)
		return 0, nil
	}
	return c.putChecked(f, dst, off, src, lc)
}

// puts names the forms.
var puts = [...]string{blocking: "Put", explicit: "PutNB", implicit: "PutNBI"}

// putChecked is put where that needs a check or messages.
func (c *Context) putChecked(f form, dst core.Rank, off uint64, src []byte, lc LocalCompletion) (Event, error) {
	call := puts[f]
	if err := c.admit(call, dst, off, len(src)); err != nil {
		return 0, err
	}
	if !lc.valid() {
		return 0, c.ep.misuse(call, "%v is none of LCNow, LCDefer and LCLeaf", lc)
	}
	if to := place(c.ep.reach, dst, off, len(src)); to != nil {
		c.ep.core.NoteInPlace(record.PutInPlace, dst, len(src))
		move(to, src)
		return 0, nil
	}
	op, err := c.start(call, f, putCategory, dst, nil)
	if err != nil {
		return 0, err
	}
	return c.end(op, f, c.sendPut(op, dst, off, src, lc))
}

// sendPut sends src in as many parts as it takes; op counts them, or their answers.
func (c *Context) sendPut(op *operation, dst core.Rank, off uint64, src []byte, lc LocalCompletion) error {
	if c.ep.native.put > 0 {
		n, err := c.putNative(op, dst, off, src, lc)
		if n == len(src) || err != nil {
			return err
		}
		off, src = off+uint64(n), src[n:]
	}
	m := core.Message{Kind: core.Medium, Handler: handlerPut}
	size := c.ep.piece.put
	if len(src) > size {
		m.Kind, m.Handler, size = core.Long, handlerPutLong, c.ep.piece.long
		switch lc {
		case LCLeaf:
			m.LC = &op.local
		case LCDefer:
			m.LC = &op.deferred
		}
	}
	for len(src) > 0 {
		m.Data = src[:min(len(src), size)]
		src = src[len(m.Data):]
		if m.Kind == core.Long {
			m.Off = off
		}
		op.pending.Add(1)
		if err := c.Request(dst, m, op.number, uint32(off), uint32(off>>32)); err != nil {
			return err
		}
		off += uint64(len(m.Data))
	}
	return nil
}

// onPut handles a Medium [number, off, off]: its payload goes to off.
func (ep *Endpoint) onPut(t *core.Token, args []uint32, data []byte) {
	if len(args) != 3 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if to, ok := ep.own(t, args[1], args[2], len(data)); ok {
		copy(to, data)
		ep.reply(t, handlerDone, args[0])
	}
}

// onPutLong handles a Long [number, …]: its payload is there.
func (ep *Endpoint) onPutLong(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 3 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	ep.reply(t, handlerDone, args[0])
}
