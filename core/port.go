package core

import (
	"log/slog"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Port is a conduit's way up: where it delivers what has arrived, and says what else concerns the
// rank. Core gives it to Conduit.Attach.
type Port struct {
	ep *Endpoint
	up Upward // who stands between the conduit and core; nil: nobody
}

// Upward are the calls that a conduit makes. *Port has them; a conduit that stands on another one
// implements them to see the calls of the lower one, and hands that a port of NewPort. To embed
// its own port there passes the calls on that do not concern it.
type Upward interface {
	Dispatch(src Rank, h Header, args *[MaxArgs]uint32, data []byte, slot uint64) (replied bool)
	DispatchLong(src Rank, h Header, args *[MaxArgs]uint32, segment []byte, off, n, slot uint64) (replied bool)
	Fail(err error)
	Wake()
	Log() *slog.Logger
}

// NewPort returns a port whose calls go to up.
func NewPort(up Upward) *Port { return &Port{up: up} }

// Dispatch delivers a message that arrived from src: it runs the handler and reports
// whether that replied (always false for a reply). Conduits call it, from Poll only, for
// Short and Medium messages. args and data need to stay unchanged until it returns; slot
// becomes the reply's Op.Slot. A malformed message ends the job.
func (p *Port) Dispatch(src Rank, h Header, args *[MaxArgs]uint32, data []byte, slot uint64) (replied bool) {
	if p.up != nil {
		return p.up.Dispatch(src, h, args, data, slot)
	}
	ep := p.ep
	fn := ep.table.fn[h.Handler()]
	n := h.NArgs()
	if fn == nil || n > MaxArgs || h.Kind() > Long || ep.debug {
		if !ep.wellFormed(src, h) {
			return false
		}
	}
	t, c := &ep.token, ep.poller
	t.src, t.hdr = src, h
	t.op.Dst, t.op.Slot = src, slot
	if t.state = tokenLive; h.Reply() {
		t.state = tokenDone
	}
	c.restricted |= inHandler
	fn(t, args[:n], data)
	c.restricted &^= inHandler
	replied = t.state == tokenDone && !h.Reply()
	if t.state == tokenPrepared || c.locks != nil {
		ep.unfinished(t, c)
	}
	t.state = tokenDead
	if l := ep.tallies; l != nil {
		key := tallyOf(src, h)
		n := l.latest[tallySlot(src, h)]
		if n.key != key {
			n = l.find(key)
		}
		n.add(len(data))
		return replied
	}
	shm.Add64(&ep.peers.At(int(src)).received, 1)
	return replied
}

// DispatchLong is Dispatch for a Long whose n payload bytes lie at off of segment already, the
// memory that the conduit takes for this rank's segment: what AttachSegment returned. A range outside of it
// ends the job, and so does memory that is not the rank's segment, where the handler would not
// find the payload.
func (p *Port) DispatchLong(src Rank, h Header, args *[MaxArgs]uint32, segment []byte, off, n, slot uint64) (replied bool) {
	if p.up != nil {
		return p.up.DispatchLong(src, h, args, segment, off, n, slot)
	}
	ep := p.ep
	data, ok := Window(ep.segment, off, n)
	switch {
	case !ok:
		ep.malformed(src, h, "payload of "+itoa(int(n))+" bytes at "+itoa(int(off))+" outside the segment")
		return false
	case n > 0 && unsafe.SliceData(segment) != unsafe.SliceData(ep.segment):
		ep.malformed(src, h, "the conduit has placed the payload in other memory than the rank's segment")
		return false
	}
	ep.token.off = off
	return p.Dispatch(src, h, args, data, slot)
}

// Fail ends the job with err as the reason; conduits call it when the network has failed. Any
// goroutine may.
func (p *Port) Fail(err error) {
	if p.up != nil {
		p.up.Fail(err)
		return
	}
	p.ep.Fail(err)
}

// Wake ends the sleep of a wait in the kernel, or the next one. Conduits call it, live only, for
// what the descriptor of their Sleeper does not tell. Any goroutine may; it does not block.
func (p *Port) Wake() {
	if p.up != nil {
		p.up.Wake()
		return
	}
	p.ep.wake()
}

// Log returns the job's logger, for what people should know of how the job communicates. Any
// goroutine may call it.
func (p *Port) Log() *slog.Logger {
	if p.up != nil {
		return p.up.Log()
	}
	return p.ep.job.cfg.Logger()
}

// Window returns n bytes at off of a segment, or false if they are not all in it: the check for
// conduits that place a Long's payload themselves.
func Window(segment []byte, off, n uint64) ([]byte, bool) {
	size := uint64(len(segment))
	if off > size || n > size-off {
		return nil, false
	}
	return segment[off : off+n : off+n], true
}
