package core

// OffsetLater, as Offer.Off, leaves a Long's destination to CommitAt.
const OffsetLater = ^uint64(0)

// Offer describes a negotiated-payload message (GASNet-EX Prepare): the caller learns how
// much payload it may send and where to assemble it, and fixes handler, arguments and
// final length at Commit.
type Offer struct {
	Kind  Kind   // Medium or Long
	Least int    // the size that is needed; at most the limit for the kind
	Most  int    // the size that would be useful, at least Least; may exceed the limit
	NArgs int    // the number of arguments that Commit will give
	Buf   []byte // the caller's own buffer of at least Most bytes, or nil for one of the library
	Off   uint64 // Long: offset in the destination's segment, or OffsetLater
	// Outside has a buffer of the library lie outside the Go heap, so that code in another language may
	// write to it until Commit. It is always staged, at the price of a copy. In virtual time,
	// and under the race detector, which watches the heap only, it lies there all the same.
	Outside bool
	// Immediate returns ErrNoRoom instead of waiting where room is taken at Prepare; a
	// staged message (a buffer given, offset later, or Many) takes room at Commit and
	// may wait there.
	Immediate bool
}

// negotiation is a prepared message of a context or token.
type negotiation struct {
	offer  Offer
	staged bool     // the payload lies in buf and is copied at Commit
	buf    []byte   // what the caller was given
	own    *staging // the library's memory, kept for reuse; nil before its first use
}

// Prepare opens a negotiated request to dst and returns the buffer to fill, Least to Most
// bytes. Until Commit the context may do nothing else (as in a reply handler), and the
// buffer belongs to the caller; it is not memory any more when the rank's body has returned. Live each context that
// prepares messages may keep a mapping of its own, of which a process has 65,530 by default.
// May wait for room, polling. Not allowed in a handler.
func (c *Context) Prepare(dst Rank, o Offer) ([]byte, error) {
	ep := c.ep
	if !ep.connected(dst) || c.restricted != 0 {
		return nil, c.badRequest("Prepare", dst, 1, 0)
	}
	size, err := ep.checkOffer("Prepare", dst, &o, false)
	if err != nil {
		return nil, err
	}
	op := &c.op
	op.Dst, op.Len, op.Off = dst, size, o.Off
	// A reserved place that is not filled yet would hold up other contexts' messages behind
	// it, so where there are any the payload is assembled privately.
	if err := c.stage.begin(ep, o, size, !ep.single || ep.several); err != nil {
		return nil, err
	}
	if !c.stage.staged {
		op.Hdr = MakeHeader(0, o.Kind, false, o.NArgs)
		if c.reserve(op) == NoRoom {
			if o.Immediate {
				return nil, ErrNoRoom
			}
			if err := c.waitForRoom(op); err != nil {
				return nil, err
			}
		}
		c.stage.buf = op.Data[:size:size]
	}
	c.restricted |= prepared
	return c.stage.buf, nil
}

// Commit sends the prepared request with the first n bytes of its buffer. The number of
// arguments must be the one prepared for. On an error the message stays prepared.
func (c *Context) Commit(h HandlerIndex, n int, args ...uint32) error {
	return c.CommitAt(h, n, c.stage.offer.Off, args...)
}

// CommitAt is Commit for a Long whose offset was left open.
func (c *Context) CommitAt(h HandlerIndex, n int, off uint64, args ...uint32) error {
	ep := c.ep
	if c.restricted&prepared == 0 {
		return ep.Misuse("Commit", "no request is prepared")
	}
	if err := ep.checkCommit(&c.stage, c.op.Dst, h, n, off, len(args), ep.limitsTo(c.op.Dst).MaxLongRequest); err != nil {
		return err
	}
	op := &c.op
	op.Hdr = MakeHeader(h, c.stage.offer.Kind, false, len(args))
	op.Len, op.Off = n, off
	c.restricted &^= prepared
	if c.stage.staged {
		if c.reserve(op) == NoRoom {
			if err := c.waitForRoom(op); err != nil {
				c.restricted |= prepared
				return err
			}
		}
		copy(op.Data, c.stage.buf[:n])
	}
	for i, a := range args {
		op.Args[i&(MaxArgs-1)] = a
	}
	ep.conduit.Commit(op)
	return c.sent()
}

// Cancel gives the prepared request up, of which nothing is sent (gex_AM_Cancel…). It is for one whose payload is staged: with a
// buffer given, or Offer.Outside. Another one has its place between others already, and is committed.
func (c *Context) Cancel() error {
	if c.restricted&prepared == 0 {
		return c.ep.Misuse("Cancel", "no request is prepared")
	}
	if err := c.stage.cancel(c.ep); err != nil {
		return err
	}
	c.restricted &^= prepared
	return nil
}

// Prepare opens a negotiated reply; as Context.Prepare, but it never waits.
func (t *Token) Prepare(o Offer) ([]byte, error) {
	ep := t.ep
	if t.state != tokenLive {
		return nil, t.badReply("PrepareReply", 1, 0)
	}
	size, err := ep.checkOffer("PrepareReply", t.src, &o, true)
	if err != nil {
		return nil, err
	}
	op := &t.op
	op.Len, op.Off = size, o.Off
	if err := t.stage.begin(ep, o, size, false); err != nil {
		return nil, err
	}
	if !t.stage.staged {
		op.Hdr = MakeHeader(0, o.Kind, true, o.NArgs)
		if err := t.reserve(); err != nil {
			return nil, err
		}
		t.stage.buf = op.Data[:size:size]
	}
	t.state = tokenPrepared
	return t.stage.buf, nil
}

// Commit sends the prepared reply with the first n bytes of its buffer.
func (t *Token) Commit(h HandlerIndex, n int, args ...uint32) error {
	return t.CommitAt(h, n, t.stage.offer.Off, args...)
}

// CommitAt is Commit for a Long whose offset was left open.
func (t *Token) CommitAt(h HandlerIndex, n int, off uint64, args ...uint32) error {
	ep := t.ep
	if t.state != tokenPrepared {
		return ep.Misuse("CommitReply", "no reply is prepared")
	}
	if err := ep.checkCommit(&t.stage, t.src, h, n, off, len(args), ep.limitsTo(t.src).MaxLongReply); err != nil {
		return err
	}
	op := &t.op
	op.Hdr = MakeHeader(h, t.stage.offer.Kind, true, len(args))
	op.Len, op.Off = n, off
	if t.stage.staged {
		if err := t.reserve(); err != nil {
			return err
		}
		copy(op.Data, t.stage.buf[:n])
	}
	t.commit(args)
	return nil
}

// Cancel gives the prepared reply up, as Context.Cancel does a request. The handler may reply otherwise.
func (t *Token) Cancel() error {
	if t.state != tokenPrepared {
		return t.ep.Misuse("CancelReply", "no reply is prepared")
	}
	if err := t.stage.cancel(t.ep); err != nil {
		return err
	}
	t.state = tokenLive
	return nil
}

// cancel forgets the message, if it can be.
func (g *negotiation) cancel(ep *Endpoint) error {
	if !g.staged {
		return ep.Misuse("Cancel", "the message has its place among others already; what may be cancelled is prepared with a buffer, or with Offer.Outside")
	}
	g.buf = nil
	return nil
}

// begin notes the offer and, when the payload cannot be assembled in place, sets the
// buffer: the caller's, or staging memory that is kept for reuse.
func (g *negotiation) begin(ep *Endpoint, o Offer, size int, private bool) (err error) {
	g.offer = o
	// A buffer of the library is aligned for any type, so a Long whose place is not, or not
	// known yet (OffsetLater is odd), is assembled elsewhere.
	g.staged = private || o.Outside || o.Buf != nil || o.Kind == Long && o.Off%8 != 0
	switch {
	case !g.staged:
	case o.Buf != nil:
		g.buf = o.Buf[:size]
	default:
		g.buf, err = ep.stagingOf(&g.own, size)
	}
	g.offer.Buf = nil
	return err
}

// checkOffer checks an offer and returns the size to grant.
func (ep *Endpoint) checkOffer(op string, dst Rank, o *Offer, reply bool) (int, error) {
	limit := ep.MaxPayload(dst, o.Kind, reply)
	switch o.Kind {
	case Medium:
	case Long:
		if o.Off != OffsetLater {
			if err := ep.checkLong(op, dst, o.Off, o.Least, limit); err != nil {
				return 0, err
			}
			limit = min(limit, ep.sizes[dst]-int(o.Off))
		}
	default:
		return 0, ep.Misuse(op, "a %v has no payload to negotiate", o.Kind)
	}
	switch {
	case o.NArgs < 0 || o.NArgs > MaxArgs:
		return 0, ep.Misuse(op, "%s; at most %d", arguments(o.NArgs), MaxArgs)
	case o.Least < 0 || o.Most < o.Least:
		return 0, ep.Misuse(op, "least %d and most %d; need 0 ≤ least ≤ most", o.Least, o.Most)
	case o.Least > limit:
		return 0, ep.Misuse(op, "least %d exceeds the limit of %d", o.Least, limit)
	case o.Buf != nil && len(o.Buf) < o.Most:
		return 0, ep.Misuse(op, "the buffer has %d bytes; most is %d", len(o.Buf), o.Most)
	}
	return min(o.Most, limit), nil
}

// checkCommit checks what Commit adds to a prepared message.
func (ep *Endpoint) checkCommit(g *negotiation, dst Rank, h HandlerIndex, n int, off uint64, nargs, long int) error {
	switch {
	case h == AnyHandler:
		return ep.Misuse("Commit", "handler index 0 is never a handler")
	case nargs != g.offer.NArgs:
		return ep.Misuse("Commit", "%s; the message was prepared for %d", arguments(nargs), g.offer.NArgs)
	case n < 0 || n > len(g.buf):
		return ep.Misuse("Commit", "%d bytes; the buffer has %d", n, len(g.buf))
	case g.offer.Kind == Long && g.offer.Off != OffsetLater && off != g.offer.Off:
		return ep.Misuse("Commit", "offset %d; the message was prepared for %d", off, g.offer.Off)
	case g.offer.Kind == Long:
		return ep.checkLong("Commit", dst, off, n, long)
	}
	return nil
}
