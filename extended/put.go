package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
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

// smallPut is the size up to which a put or get by messages is one Medium, which costs a
// copy more than a Long and one thing less to look up.
const smallPut = 4096

// Put copies src to off of dst's segment and returns when everybody sees it there. It may
// poll. dst may be the caller. Not allowed in a handler.
func (c *Context) Put(dst core.Rank, off uint64, src []byte) error {
	ep := c.ep
	if uint(dst) < uint(len(ep.reach)) {
		if to := ep.reach[dst]; off <= uint64(len(to)) && uint64(len(src)) <= uint64(len(to))-off && to != nil {
			move(unsafe.Add(unsafe.Pointer(unsafe.SliceData(to)), off), src)
			return nil
		}
	}
	if !ep.inside(dst, off, len(src)) {
		return ep.outside("Put", dst, off, len(src))
	}
	op, err := c.begin("Put")
	if err != nil {
		return err
	}
	return c.complete(op, c.put(op, dst, off, src, LCDefer))
}

// PutNB initiates a put and returns its event. src may be reused as lc says. Not allowed
// in a handler.
func (c *Context) PutNB(dst core.Rank, off uint64, src []byte, lc LocalCompletion) (Event, error) {
	ep := c.ep
	if !ep.inside(dst, off, len(src)) {
		return 0, ep.outside("PutNB", dst, off, len(src))
	}
	if to := ep.reach[dst]; to != nil {
		copy(to[off:], src)
		return 0, nil
	}
	op, err := c.begin("PutNB")
	if err != nil {
		return 0, err
	}
	return c.event(op, c.put(op, dst, off, src, lc))
}

// PutNBI initiates an implicit put: a part of the open access region, or else of what
// TestNBI and WaitNBI synchronise. src may be reused as lc says. Not allowed in a handler.
func (c *Context) PutNBI(dst core.Rank, off uint64, src []byte, lc LocalCompletion) error {
	ep := c.ep
	if !ep.inside(dst, off, len(src)) {
		return ep.outside("PutNBI", dst, off, len(src))
	}
	if to := ep.reach[dst]; to != nil {
		copy(to[off:], src)
		return nil
	}
	op, err := c.implied("PutNBI", putCategory)
	if err != nil {
		return err
	}
	return c.put(op, dst, off, src, lc)
}

// put sends src in as many parts as it takes; op counts their answers.
func (c *Context) put(op *operation, dst core.Rank, off uint64, src []byte, lc LocalCompletion) error {
	m := core.Message{Kind: core.Medium, Handler: handlerPut}
	size := c.ep.piece.put
	if len(src) > size {
		m.Kind, m.Handler, size = core.Long, handlerPutLong, c.ep.piece.long
		if lc != LCNow {
			m.LC = &op.local
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
