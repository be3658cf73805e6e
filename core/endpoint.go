package core

import (
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
)

// Endpoint is a rank's place in the communication: handler table, segment, and the default
// Context, whose methods it has. Each job has one, made by Job.Attach.
type Endpoint struct {
	Context

	// What every poll and message touches comes first, close together.
	job     *Job
	conduit Conduit
	proc    Process // nil live
	poller  *Context
	advance func(*Context) int
	idler   Idler   // nil live, and if the conduit has none
	spinner Spinner // nil under a model, and if the conduit has none
	state   *State
	single  bool // no locking
	several bool // Single: there are other contexts than the default one
	debug   bool
	shared  bool               // other ranks live in this process
	detour  bool               // a wait is more than one of a live rank: modelled, or watched
	tallies *tallies           // nil: the job is not watched
	peers   sparse.Table[peer] // by rank; what an injection touches
	token   Token

	sleeper Sleeper
	port    Port
	powers  Powers
	most    nativeSizes
	reaches bool
	extra   int // bytes of the segment beyond what was asked for
	*roster
	segment []byte
	sizes   []int       // by rank: segment bytes, 0 outside the group; not changed, but replaced by AttachSegment
	later   *unattached // the segment that AttachSegment makes; nil: there is none, or it has
	bell    int         // eventfd that wakes a sleeping wait when the job fails

	sending  sending // Many: serialises Reserve of requests; taken after the progress lock
	progress progress
	bias     bias
	contexts *contexts // of NewContext; nil before the first
	idle     idleTimes
	stagings stagings // of prepared messages
	carrier  *Context // what advance sends with
	table    handlerTable
	barrier  barrier
	asked    atomic.Pointer[chan Place] // who waits is to say where the rank is
	locate   func(entered map[string]uint64)
	watch    *watch // nil: the job is not watched
}

// peer counts the messages exchanged with one rank.
type peer struct {
	requests uint64 // sent; written under sending; all are read atomically
	replies  uint64 // sent; written while polling
	received uint64 // written while polling; 0 where tallies count
}

// Counts are the messages that passed between this endpoint and one peer.
type Counts struct{ Requests, Replies, Received uint64 }

// Job returns the job the endpoint belongs to. A handler may call it.
func (ep *Endpoint) Job() *Job { return ep.job }

// Rank returns the caller's rank. A handler may call it.
func (ep *Endpoint) Rank() Rank { return ep.job.rank }

// Size returns the number of ranks of the job. A handler may call it.
func (ep *Endpoint) Size() int { return ep.job.size }

// Group returns the ranks this endpoint is connected to, ascending, its own included. The
// slice may be shared by ranks, and is not to be changed. A handler may call it.
func (ep *Endpoint) Group() []Rank { return ep.group }

// Segment returns the rank's own registered memory, valid until the job ends; nil before AttachSegment,
// where that makes it. Peers write to it at any time by Longs. A handler may call it.
func (ep *Endpoint) Segment() []byte { return ep.segment }

// Reach returns rank's segment as memory of this process, if the conduit can reach it
// directly (never under a model), else nil. Both ranks see each other's stores as threads
// of one process would, and a handler sees the stores made before its message was sent.
// The memory is valid until the job ends; an access after it was removed by the peer's
// death does no harm. A handler may not call it.
func (ep *Endpoint) Reach(rank Rank) ([]byte, error) {
	if !ep.Reaches() || ep.SegmentSize(rank) == 0 {
		return nil, nil
	}
	return ep.powers.Reacher.Reach(rank)
}

// Reaches reports whether there is direct reach in this job, perhaps of some ranks only. It is the
// same on all ranks. A handler may call it.
func (ep *Endpoint) Reaches() bool { return ep.reaches }

// SegmentSize returns the bytes of rank's segment, 0 for a rank outside the group. A
// handler may call it.
func (ep *Endpoint) SegmentSize(rank Rank) int {
	if uint(rank) >= uint(len(ep.sizes)) {
		return 0
	}
	return ep.sizes[rank]
}

// Extra returns the bytes at the end of this rank's segment that AttachSpec.Extra asked for,
// as far as the conduit's limit left room. A handler may call it.
func (ep *Endpoint) Extra() int { return ep.extra }

// Limits returns the payload limits towards every peer, for every number of arguments; towards one
// peer they may be larger, see MaxPayload. A handler may call it.
func (ep *Endpoint) Limits() Limits { return ep.powers.Limits }

// limitsTo returns the payload limits towards one peer.
func (ep *Endpoint) limitsTo(rank Rank) *Limits {
	if f := ep.powers.LimitsTo; f != nil {
		return f(rank)
	}
	return &ep.powers.Limits
}

// MaxPayload returns the payload limit of a message to rank (GASNet-EX
// gex_AM_Max{Request,Reply}{Medium,Long}), for a Long also bounded by rank's segment; 0
// for a Short. A handler may call it.
func (ep *Endpoint) MaxPayload(rank Rank, k Kind, reply bool) int {
	if !ep.connected(rank) {
		return 0
	}
	l := ep.limitsTo(rank)
	switch {
	case k == Medium && reply:
		return l.MaxMediumReply
	case k == Medium:
		return l.MaxMediumRequest
	case k == Long && reply:
		return min(l.MaxLongReply, ep.SegmentSize(rank))
	case k == Long:
		return min(l.MaxLongRequest, ep.SegmentSize(rank))
	}
	return 0
}

// Counts returns how many messages went to rank and came from it. The figures are exact
// when no other goroutine uses the endpoint.
func (ep *Endpoint) Counts(rank Rank) Counts {
	var n Counts
	if f := ep.powers.Foreign; f != nil {
		n = f.Counts(rank)
	}
	if p := ep.peers.Find(int(rank)); p != nil {
		n.Requests += atomic.LoadUint64(&p.requests)
		n.Replies += atomic.LoadUint64(&p.replies)
		n.Received += atomic.LoadUint64(&p.received)
	}
	if w := ep.watch; w != nil {
		if t := w.peers.Find(int(rank)); t != nil {
			t.all(func(_ *tally, c record.Count) { n.Received += c.N })
		}
	}
	return n
}

// wellFormed checks what a message claims about itself, in debug mode also against the
// handler's registration; otherwise it ends the job.
func (ep *Endpoint) wellFormed(src Rank, h Header) bool {
	switch {
	case h.NArgs() > MaxArgs:
		ep.malformed(src, h, "too many arguments")
	case h.Kind() > Long:
		ep.malformed(src, h, "no such category")
	case ep.table.fn[h.Handler()] == nil:
		ep.malformed(src, h, "no handler is registered at this index")
	default:
		e := ep.table.entry(h.Handler())
		err := e.check(h)
		if err == nil {
			return true
		}
		ep.malformed(src, h, err.Error())
	}
	return false
}

// describe says what a message is, with the name that its handler has here.
func (ep *Endpoint) describe(h Header) string {
	return h.describe(ep.table.entry(h.Handler()).Name)
}

// malformed ends the job because of a message that no correct peer sends.
func (ep *Endpoint) malformed(src Rank, h Header, what string) {
	ep.job.abort(&ExitError{1, (&UsageError{ep.job.rank, "message from rank " + itoa(int(src)), ep.describe(h) + ": " + what}).Error()})
}

// unfinished diagnoses a handler that returned too early.
func (ep *Endpoint) unfinished(t *Token, c *Context) {
	if t.state == tokenPrepared {
		ep.job.abort(ep.Misuse("handler", "returned from a %s with a prepared reply not committed", ep.describe(t.hdr)))
		return
	}
	ep.Misuse("handler", "returned from a %s holding a handler-safe lock", ep.describe(t.hdr))
}

// Fail ends the job with err as the reason. Any goroutine may call it, and a handler.
func (ep *Endpoint) Fail(err error) { ep.job.abort(err) }

// wake ends the sleep of a wait in the kernel, or the next one.
func (ep *Endpoint) wake() { shm.Ring(ep.bell) }
