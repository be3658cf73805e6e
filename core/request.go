package core

import "github.com/aqueduct-go/aqueduct/internal/shm"

// sendsPerPoll is how many requests a context sends before it polls once, so that a rank
// that only sends still serves its peers, and learns of the job's failure. Waiting for room
// always polls.
const sendsPerPoll = 16

// sent counts a request, and polls when it is time.
func (c *Context) sent() error {
	if c.sends++; c.sends < sendsPerPoll {
		return nil
	}
	c.sends = 0
	return c.Poll()
}

// Message describes a request in full, for Context.Request.
type Message struct {
	Kind    Kind
	Handler HandlerIndex
	Data    []byte // Medium, Long: the payload; read before Request returns unless LC or Async
	Off     uint64 // Long: where in the destination's segment the payload goes

	// LC, when not nil, lets the library keep Data: it counts one pending completion
	// until Data may be reused (GASNet-EX local completion; one Completion for a single
	// message is an event, for many a group). Nil: Data may be reused on return.
	LC *Completion
	// Async lets the library keep Data until the matching reply handler starts
	// (AMRequestLongAsync): the request's handler must reply. Excludes LC.
	Async bool
	// Immediate returns ErrNoRoom instead of waiting for room (GEX_FLAG_IMMEDIATE), and
	// does not poll.
	Immediate bool
}

// RequestShort sends a Short request: handler h runs at dst with the arguments, at most
// MaxArgs. It may wait for room, polling meanwhile, so handlers of this endpoint may run.
// Not allowed in a handler. dst may be the caller's own rank.
func (c *Context) RequestShort(dst Rank, h HandlerIndex, args ...uint32) error {
	return c.short("RequestShort", dst, h, args, false)
}

// TryShort is RequestShort with Message.Immediate: it returns ErrNoRoom instead of waiting
// for room, and does not poll.
func (c *Context) TryShort(dst Rank, h HandlerIndex, args ...uint32) error {
	return c.short("TryShort", dst, h, args, true)
}

func (c *Context) short(call string, dst Rank, h HandlerIndex, args []uint32, immediate bool) error {
	ep := c.ep
	if !ep.connected(dst) || h == AnyHandler || len(args) > MaxArgs || c.restricted != 0 {
		return c.badRequest(call, dst, h, len(args))
	}
	op := &c.op
	op.Dst, op.Len = dst, 0
	op.Hdr = MakeHeader(h, Short, false, len(args))
	if c.reserve(op) == NoRoom {
		if immediate {
			return ErrNoRoom
		}
		if err := c.waitForRoom(op); err != nil {
			return err
		}
	}
	for i, a := range args {
		op.Args[i&(MaxArgs-1)] = a
	}
	ep.conduit.Commit(op)
	if immediate {
		return nil
	}
	return c.sent()
}

// RequestMedium sends a Medium request. data, at most Limits.MaxMediumRequest bytes, may
// be reused on return. Otherwise as RequestShort.
func (c *Context) RequestMedium(dst Rank, h HandlerIndex, data []byte, args ...uint32) error {
	return c.request("RequestMedium", dst, &Message{Kind: Medium, Handler: h, Data: data}, args)
}

// RequestLong sends a Long request: data, at most Limits.MaxLongRequest bytes, is written
// at offset off of dst's segment before handler h runs there. data may be reused on
// return. Otherwise as RequestShort.
func (c *Context) RequestLong(dst Rank, h HandlerIndex, data []byte, off uint64, args ...uint32) error {
	return c.request("RequestLong", dst, &Message{Kind: Long, Handler: h, Data: data, Off: off}, args)
}

// RequestLongAsync is RequestLong for a payload that stays unchanged until the matching
// reply handler starts; the request's handler must reply.
func (c *Context) RequestLongAsync(dst Rank, h HandlerIndex, data []byte, off uint64, args ...uint32) error {
	return c.request("RequestLongAsync", dst, &Message{Kind: Long, Handler: h, Data: data, Off: off, Async: true}, args)
}

// Request sends the message that m describes; RequestShort and the others are shorthands.
func (c *Context) Request(dst Rank, m Message, args ...uint32) error {
	return c.request("Request", dst, &m, args)
}

func (c *Context) request(call string, dst Rank, m *Message, args []uint32) error {
	ep := c.ep
	if !ep.connected(dst) || m.Handler == AnyHandler || len(args) > MaxArgs || c.restricted != 0 {
		return c.badRequest(call, dst, m.Handler, len(args))
	}
	if err := ep.checkRequest(call, dst, m.Kind, m.Off, len(m.Data)); err != nil {
		return err
	}
	if m.Async && (m.LC != nil || m.Kind != Long) {
		return ep.Misuse(call, "Async is for Long and excludes LC")
	}
	op := &c.op
	op.Dst, op.Len, op.Off = dst, len(m.Data), m.Off
	op.Hdr = MakeHeader(m.Handler, m.Kind, false, len(args))
	if (m.LC != nil || m.Async) && op.Len > 0 {
		op.Src, op.LC, op.Data = m.Data, m.LC, nil
		if m.LC != nil {
			m.LC.n.Add(1)
		}
	}
	if c.reserve(op) == NoRoom {
		var err error
		if m.Immediate {
			err = ErrNoRoom
		} else {
			err = c.waitForRoom(op)
		}
		if err != nil {
			c.copied(op)
			return err
		}
	}
	if op.Len > 0 && (op.Src == nil || op.Data != nil) {
		copy(op.Data, m.Data)
		c.copied(op)
	}
	for i, a := range args {
		op.Args[i&(MaxArgs-1)] = a
	}
	ep.conduit.Commit(op)
	op.Src, op.LC = nil, nil
	if m.Immediate {
		return nil
	}
	return c.sent()
}

// copied settles an op whose payload the conduit does not need any more.
func (c *Context) copied(op *Op) {
	if op.LC != nil {
		op.LC.Complete()
	}
	op.Src, op.LC = nil, nil
}

// reserve asks the conduit for room once, serialised with the other contexts.
func (c *Context) reserve(op *Op) Result {
	ep := c.ep
	if ep.single {
		r := ep.conduit.Reserve(op)
		if r == Reserved {
			shm.Add64(&ep.peers.At(int(op.Dst)).requests, 1)
		}
		return r
	}
	if alone, entered := c.enterAlone(); alone {
		r := ep.conduit.Reserve(op)
		if r == Reserved {
			shm.Add64(&ep.peers.At(int(op.Dst)).requests, 1)
		}
		if entered {
			c.leaveAlone()
		}
		return r
	}
	ep.sending.Lock()
	r := ep.conduit.Reserve(op)
	if r == Reserved {
		shm.Add64(&ep.peers.At(int(op.Dst)).requests, 1)
	}
	ep.sending.Unlock()
	return r
}

// roomToSend is what reports call a wait for room.
const roomToSend = "room to send"

// waitForRoom polls until the conduit has room for op.
func (c *Context) waitForRoom(op *Op) error {
	return c.waitSilent(roomToSend, func() bool { return c.reserve(op) == Reserved })
}

// checkRequest checks a request's category and payload against the limits.
func (ep *Endpoint) checkRequest(op string, dst Rank, k Kind, off uint64, n int) error {
	switch k {
	case Short:
		if n != 0 {
			return ep.Misuse(op, "a Short carries no payload; %d bytes given", n)
		}
	case Medium:
		if most := ep.limitsTo(dst).MaxMediumRequest; n > most {
			return ep.Misuse(op, "Medium payload of %d bytes; the limit is %d", n, most)
		}
	case Long:
		return ep.checkLong(op, dst, off, n, ep.limitsTo(dst).MaxLongRequest)
	default:
		return ep.Misuse(op, "unknown category %v", k)
	}
	return nil
}

// checkLong checks that a Long of n bytes at off fits dst's segment.
func (ep *Endpoint) checkLong(op string, dst Rank, off uint64, n, limit int) error {
	if n > limit {
		return ep.Misuse(op, "Long payload of %d bytes; the limit is %d", n, limit)
	}
	if size := uint64(ep.sizes[dst]); off > size || uint64(n) > size-off {
		return ep.outside(op, dst, off, n)
	}
	return nil
}

// outside makes the error of a call for n bytes at off that lie outside rank's segment.
func (ep *Endpoint) outside(call string, rank Rank, off uint64, n int) error {
	if ep.later != nil {
		return ep.Misuse(call, "rank %d has no segment yet; %s makes it", rank, segmentCall)
	}
	return ep.Misuse(call, "bytes %d to %d lie outside rank %d's segment of %d bytes", off, off+uint64(n), rank, ep.SegmentSize(rank))
}

// badRequest says what is wrong with a request that was refused.
func (c *Context) badRequest(op string, dst Rank, h HandlerIndex, nargs int) error {
	ep := c.ep
	switch {
	case c.restricted != 0:
		return c.misplaced(op)
	case uint(dst) >= uint(ep.Size()):
		return ep.Misuse(op, "no rank %d in a job of %d", dst, ep.Size())
	case !ep.connected(dst):
		return ep.Misuse(op, "rank %d is not in this endpoint's group %v", dst, ep.group)
	case h == AnyHandler:
		return ep.Misuse(op, "handler index 0 is never a handler")
	}
	return ep.Misuse(op, "%s; at most %d", arguments(nargs), MaxArgs)
}
