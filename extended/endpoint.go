// Package extended is the Extended API: one-sided communication, remote atomics, teams,
// barriers and collectives, network-independent on package core alone, and as fast as the
// conduit allows where it reaches peers' memory directly.
//
// A program attaches once and calls everything through a Context, one per goroutine; an
// Endpoint has a default one.
//
//	ep, err := extended.Attach(job, core.AttachSpec{Segment: "64MB"})
//	err = ep.Put(peer, 0, data)           // blocking
//	ev, err := ep.GetNB(buf, peer, 4096)  // with an event
//	err = ep.Wait(ev)
//	err = ep.World().Barrier(&ep.Context)
//
// Remote memory is named by the rank and an offset in its segment.
package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Handlers of this package, in the range that core keeps for it.
const (
	handlerPut core.HandlerIndex = core.ExtendedHandlers + iota
	handlerPutLong
	handlerGet
	handlerGot
	handlerGotLong
	handlerDone
	handlerMemset
	handlerSplitPut
	handlerSplitPutLong
	handlerSplitGet
	handlerScatter
	handlerGather
	handlerGathered
	handlerAtomic
	handlerFetched
	handlerBarrier
	handlerColl
	handlerCollCredit
)

// auxiliary is what this package takes of every rank's segment beyond the client's part:
// the shared scratch memory of collectives.
const auxiliary = 4 << 20

// Endpoint is a rank's place in one-sided and collective communication, with the default
// Context, whose methods it has. Each job has at most one, made by Attach.
type Endpoint struct {
	Context

	core   *core.Endpoint
	single bool     // one goroutine at a time
	reach  [][]byte // by rank: the client's part of its segment where this process reaches it, else nil
	direct [][]byte // the same for calls to go ahead unchecked; all nil in debug mode
	whole  [][]byte // as reach, with what lies beyond
	sizes  []int    // by rank: bytes of the client's part of its segment
	piece  pieces
	ops    operations

	world    *Team
	teams    map[uint64]*Team    // by id; changed where handlers run
	lastTeam *Team               // the one that a message was for last
	strays   map[uint64][]*stray // messages for teams to come
	straying int                 // what they cost
	serial   uint32              // of the last team named after this rank

	engaged, spare []*Team        // teams that may go on
	confirmations  []confirmation // to be sent
	scratch        arena          // shared scratch memory, of teams
	forced         coll.Forced    // algorithms of collectives that overrule the table; nil for none
	debug          bool
}

// pieces are the largest payloads that the parts of an operation travel in.
type pieces struct{ put, get, long, longReply, coll int }

// Attach attaches the job's endpoint (see core.Job.Attach, whose rules hold) and the
// Extended API on it. Collective, a barrier, once per job. spec.Extra must be 0.
func Attach(job *core.Job, spec core.AttachSpec) (*Endpoint, error) {
	if spec.Extra != 0 {
		return nil, &core.UsageError{Rank: job.Rank(), Op: "extended.Attach", Msg: "AttachSpec.Extra belongs to this package"}
	}
	forced, err := coll.ParseForced(job.Config().Collectives)
	if err != nil {
		return nil, &core.UsageError{Rank: job.Rank(), Op: "extended.Attach", Msg: "collectives: " + err.Error()}
	}
	spec.Extra = auxiliary
	c, err := job.Attach(spec)
	if err != nil {
		return nil, err
	}
	ep := &Endpoint{core: c, forced: forced, single: job.Config().Threads == core.Single || job.Modelled()}
	ep.Context.init(&c.Context, ep)
	l := c.Limits()
	ep.piece = pieces{put: min(smallPut, l.MaxMediumRequest), get: l.MaxMediumReply, long: l.MaxLongRequest, longReply: l.MaxLongReply}
	ep.ops.single = ep.single
	ep.debug = job.Config().Debug
	ep.piece.coll = min(l.MaxMediumRequest, l.MaxMediumReply, maxPart)
	ep.scratch.size = auxiliary
	ep.teams, ep.strays = make(map[uint64]*Team), make(map[uint64][]*stray)
	if err := ep.reachPeers(); err != nil {
		return nil, err
	}
	if err := c.RegisterExtended(ep.handlers()); err != nil {
		return nil, err
	}
	c.OnAdvance(ep.advance)
	if err := c.Barrier(); err != nil {
		return nil, err
	}
	ep.world, err = ep.newTeam(worldID, c.Group())
	return ep, err
}

// reachPeers notes the client's part of every segment, and maps those that can be reached.
func (ep *Endpoint) reachPeers() error {
	n := ep.core.Size()
	ep.reach, ep.direct = make([][]byte, n), make([][]byte, n)
	ep.whole, ep.sizes = make([][]byte, n), make([]int, n)
	for _, r := range ep.core.Group() {
		mem, err := ep.core.Reach(r)
		if err != nil {
			return fmt.Errorf("extended: rank %d: reach rank %d: %w", ep.Rank(), r, err)
		}
		if r == ep.Rank() {
			mem = ep.core.Segment()
		}
		ep.sizes[r] = ep.core.SegmentSize(r) - auxiliary
		if mem != nil {
			ep.whole[r], ep.reach[r] = mem, mem[:ep.sizes[r]:ep.sizes[r]]
		}
	}
	if !ep.debug {
		copy(ep.direct, ep.reach)
	}
	return nil
}

// handlers returns this package's part of the handler table.
func (ep *Endpoint) handlers() []core.HandlerEntry {
	return []core.HandlerEntry{
		{Index: handlerPut, Func: ep.onPut, Name: "put"},
		{Index: handlerPutLong, Func: ep.onPutLong, Name: "put, Long"},
		{Index: handlerGet, Func: ep.onGet, Name: "get"},
		{Index: handlerGot, Func: ep.onGot, Name: "got"},
		{Index: handlerGotLong, Func: ep.onGotLong, Name: "got, Long"},
		{Index: handlerDone, Func: ep.onDone, Name: "done"},
		{Index: handlerMemset, Func: ep.onMemset, Name: "memset"},
		{Index: handlerSplitPut, Func: ep.onSplitPut, Name: "split-phase put"},
		{Index: handlerSplitPutLong, Func: ep.onSplitPutLong, Name: "split-phase put, Long"},
		{Index: handlerSplitGet, Func: ep.onSplitGet, Name: "split-phase get"},
		{Index: handlerScatter, Func: ep.onScatter, Name: "scatter"},
		{Index: handlerGather, Func: ep.onGather, Name: "gather"},
		{Index: handlerGathered, Func: ep.onGathered, Name: "gathered"},
		{Index: handlerAtomic, Func: ep.onAtomic, Name: "atomic"},
		{Index: handlerFetched, Func: ep.onFetched, Name: "fetched"},
		{Index: handlerBarrier, Func: ep.forTeam((*Team).onBarrier), Name: "barrier"},
		{Index: handlerColl, Func: ep.forTeam((*Team).onColl), Name: "collective"},
		{Index: handlerCollCredit, Func: ep.onCollCredit, Name: "collective, confirmed"},
	}
}

// Core returns the endpoint of the Core API below. A handler may call it.
func (ep *Endpoint) Core() *core.Endpoint { return ep.core }

// Rank returns the caller's rank in the job. A handler may call it.
func (ep *Endpoint) Rank() core.Rank { return ep.core.Rank() }

// Size returns the number of ranks of the job. A handler may call it.
func (ep *Endpoint) Size() int { return ep.core.Size() }

// Segment returns the client's part of this rank's segment, valid until the job ends. A
// handler may call it.
func (ep *Endpoint) Segment() []byte { return ep.reach[ep.Rank()] }

// SegmentSize returns the bytes of the client's part of rank's segment, 0 for a rank
// outside the group. A handler may call it.
func (ep *Endpoint) SegmentSize(rank core.Rank) int {
	if uint(rank) >= uint(len(ep.sizes)) {
		return 0
	}
	return ep.sizes[rank]
}

// Local returns the client's part of rank's segment as memory of this process, or nil if
// this process does not reach it: then Put and Get are the way. Stores are visible to all
// as between threads of a process; a following message or put to the rank arrives after
// them. A handler may call it.
func (ep *Endpoint) Local(rank core.Rank) []byte {
	if uint(rank) >= uint(len(ep.reach)) {
		return nil
	}
	return ep.reach[rank]
}

// Direct is Local for the layers above whose calls, like Put, are not allowed in a handler:
// memory to access at once, without a check. In debug mode it is nil for every rank, so that
// such calls go by Put and Get, which refuse what is not allowed.
func (ep *Endpoint) Direct(rank core.Rank) []byte {
	if uint(rank) >= uint(len(ep.direct)) {
		return nil
	}
	return ep.direct[rank]
}

// misuse makes the error of a call that breaks a rule; in debug mode it ends the job.
func (ep *Endpoint) misuse(op, format string, args ...any) error {
	return ep.core.Misuse(op, format, args...)
}

// outside makes the error of a range that does not lie in the client's part of a segment.
func (ep *Endpoint) outside(op string, rank core.Rank, off uint64, n int) error {
	if uint(rank) >= uint(len(ep.sizes)) {
		return ep.misuse(op, "no rank %d in a job of %d", rank, len(ep.sizes))
	}
	return ep.misuse(op, "bytes %d to %d lie outside rank %d's segment of %d bytes", off, off+uint64(n), rank, ep.sizes[rank])
}

// inside reports whether n bytes at off lie in the client's part of rank's segment.
func (ep *Endpoint) inside(rank core.Rank, off uint64, n int) bool {
	if uint(rank) >= uint(len(ep.sizes)) {
		return false
	}
	size := uint64(ep.sizes[rank])
	return off <= size && uint64(n) <= size-off
}
