package core

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Token is a handler's view of the message it was run for. It is valid only until the
// handler returns, and only on the goroutine that runs it.
type Token struct {
	ep    *Endpoint
	src   Rank
	hdr   Header
	off   uint64
	state tokenState
	op    Op // the reply's, reused; Slot comes from the conduit
	stage negotiation
}

type tokenState uint8

const (
	tokenDead     tokenState = iota // no handler is running
	tokenLive                       // a request's handler, which may reply
	tokenLocked                     // the same, holding an HSL (debug mode): no reply now
	tokenPrepared                   // a reply is prepared and must be committed
	tokenDone                       // no reply is possible: sent already, or the message is a reply
)

// Src returns the rank that sent the message, always a job rank.
func (t *Token) Src() Rank { return t.src }

// IsRequest reports whether the message is a request.
func (t *Token) IsRequest() bool { return !t.hdr.Reply() }

// Kind returns the message's category.
func (t *Token) Kind() Kind { return t.hdr.Kind() }

// Offset returns, for a Long, where in this rank's segment the payload was written, also
// when it is empty.
func (t *Token) Offset() uint64 {
	if t.hdr.Kind() != Long {
		return 0
	}
	return t.off
}

// Entry returns the registration of the running handler.
func (t *Token) Entry() HandlerEntry { return t.ep.table.entry(t.hdr.Handler()) }

// Endpoint returns the endpoint the message arrived at.
func (t *Token) Endpoint() *Endpoint { return t.ep }

// Context returns the context whose call runs the handler; handlers take HSLs with it.
func (t *Token) Context() *Context { return t.ep.poller }

// MaxReplyMedium returns the payload limit of a Medium reply.
func (t *Token) MaxReplyMedium() int { return t.ep.limitsTo(t.src).MaxMediumReply }

// MaxReplyLong returns the payload limit of a Long reply.
func (t *Token) MaxReplyLong() int { return t.ep.limitsTo(t.src).MaxLongReply }

// ReplyShort answers the request with a Short reply: handler h runs at the requester. It
// never blocks. At most one reply per request; an error means that nothing was sent.
func (t *Token) ReplyShort(h HandlerIndex, args ...uint32) error {
	if t.state != tokenLive || h == AnyHandler || len(args) > MaxArgs {
		return t.badReply("ReplyShort", h, len(args))
	}
	op := &t.op
	op.Hdr = MakeHeader(h, Short, true, len(args))
	op.Len = 0
	if err := t.reserve(); err != nil {
		return err
	}
	t.commit(args)
	return nil
}

// ReplyMedium answers with a Medium reply. data may be reused on return.
func (t *Token) ReplyMedium(h HandlerIndex, data []byte, args ...uint32) error {
	if t.state != tokenLive || h == AnyHandler || len(args) > MaxArgs {
		return t.badReply("ReplyMedium", h, len(args))
	}
	if most := t.MaxReplyMedium(); len(data) > most {
		return t.ep.Misuse("ReplyMedium", "payload of %d bytes; the limit is %d", len(data), most)
	}
	op := &t.op
	op.Hdr = MakeHeader(h, Medium, true, len(args))
	op.Len = len(data)
	if err := t.reserve(); err != nil {
		return err
	}
	copy(op.Data, data)
	t.commit(args)
	return nil
}

// ReplyLong answers with a Long reply: data is written at offset off of the requester's
// segment before handler h runs there. data may be reused on return.
func (t *Token) ReplyLong(h HandlerIndex, data []byte, off uint64, args ...uint32) error {
	if t.state != tokenLive || h == AnyHandler || len(args) > MaxArgs {
		return t.badReply("ReplyLong", h, len(args))
	}
	if err := t.ep.checkLong("ReplyLong", t.src, off, len(data), t.MaxReplyLong()); err != nil {
		return err
	}
	op := &t.op
	op.Hdr = MakeHeader(h, Long, true, len(args))
	op.Len, op.Off = len(data), off
	if err := t.reserve(); err != nil {
		return err
	}
	copy(op.Data, data)
	t.commit(args)
	return nil
}

// reserve takes the reply's place, which the conduit has kept for it.
func (t *Token) reserve() error {
	if t.ep.conduit.Reserve(&t.op) == Reserved {
		return nil
	}
	t.state = tokenDone
	err := fmt.Errorf("core: rank %d: conduit %s has no room for the reply to a %s from rank %d", t.ep.Rank(), t.ep.job.cfg.Conduit, t.ep.describe(t.hdr), t.src)
	t.ep.Fail(err)
	return err
}

// commit writes the arguments and sends the reserved reply.
func (t *Token) commit(args []uint32) {
	for i, a := range args {
		t.op.Args[i&(MaxArgs-1)] = a
	}
	t.state = tokenDone
	t.ep.conduit.Commit(&t.op)
	shm.Add64(&t.ep.peers.At(int(t.src)).replies, 1)
}

func (t *Token) badReply(op string, h HandlerIndex, nargs int) error {
	switch {
	case t.state == tokenDead:
		return t.ep.Misuse(op, "the token's handler has returned")
	case t.state == tokenPrepared:
		return t.ep.Misuse(op, "a prepared reply must be committed first")
	case t.state == tokenLocked:
		return t.ep.Misuse(op, "called while holding a handler-safe lock; release it first")
	case t.hdr.Reply():
		return t.ep.Misuse(op, "a reply handler may not send")
	case t.state == tokenDone:
		return t.ep.Misuse(op, "the request was already answered; at most one reply")
	case h == AnyHandler:
		return t.ep.Misuse(op, "handler index 0 is never a handler")
	}
	return t.ep.Misuse(op, "%s; at most %d", arguments(nargs), MaxArgs)
}
