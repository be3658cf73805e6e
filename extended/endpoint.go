// Package extended is the Extended API: one-sided communication, remote atomics, teams,
// barriers and collectives, network-independent on package core alone, and as fast as the
// conduit allows where it reaches peers' memory directly.
//
// A program attaches once and calls everything through a Context, one per goroutine; an
// Endpoint has a default one.
//
//	ep, err := extended.Attach(job, core.AttachSpec{})
//	err = ep.Put(peer, 0, data)           // blocking
//	ev, err := ep.GetNB(buf, peer, 4096)  // with an event
//	err = ep.Wait(ev)
//	err = ep.World().Barrier(&ep.Context)
//
// Remote memory is named by the rank and an offset in its segment.
package extended

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
	"github.com/aqueduct-go/aqueduct/extended/group"
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

// auxiliary is what this package takes of every rank's segment beyond the client's part,
// where there is direct reach and the conduit does not limit segments: the shared scratch
// memory of collectives.
const auxiliary = 4 << 20

// Endpoint is a rank's place in one-sided and collective communication, with the default
// Context, whose methods it has. Each job has at most one, made by Attach.
type Endpoint struct {
	Context

	core   *core.Endpoint
	single bool     // one goroutine at a time
	reach  segments // the client's part of what this process reaches
	direct segments // the same for calls to go ahead unchecked; none in debug mode, and where the job is watched
	whole  segments // as reach, with what lies beyond
	extra  int      // bytes of every segment beyond the client's part
	later  bool     // AttachSegment is still to make the segment
	piece  pieces
	native natives
	ops    operations

	world          *Team
	teams          map[uint64]*Team         // by id; changed where handlers run
	lastTeam       *Team                    // the one that a message was for last
	unexpected     map[uint64][]*unexpected // messages for teams that this rank has not made, by team
	unexpectedCost int                      // what those messages cost
	serial         uint32                   // of the last team named after this rank

	engaged, spare []*Team        // teams that may go on
	creditReturns  []creditReturn // to be sent
	scratch        engine.Arena   // shared scratch memory, of teams
	forced         coll.Forced    // algorithms of collectives that overrule the table; nil for none
	debug          bool
}

// pieces are the largest payloads that the parts of an operation travel in.
type pieces struct{ put, get, long, longReply, coll int }

// Attach attaches the job's endpoint (see core.Job.Attach, whose rules hold) and the
// Extended API on it. Collective, a barrier, once per job. spec.Extra must be 0. With spec.SegmentLater
// teams, barriers and collectives work before Context.AttachSegment, what needs segments after it.
func Attach(job *core.Job, spec core.AttachSpec) (*Endpoint, error) {
	if spec.Extra != 0 {
		return nil, &core.UsageError{Rank: job.Rank(), Op: "extended.Attach", Msg: "AttachSpec.Extra belongs to this package"}
	}
	forced, err := forcedOf(job)
	if err != nil {
		return nil, err
	}
	spec.Extra = auxiliary // or as much of it as the conduit has room for
	c, err := job.Attach(spec)
	if err != nil {
		return nil, err
	}
	ep := newEndpoint(job, c, forced, spec.SegmentLater)
	if err := ep.reachPeers(); err != nil {
		return nil, err
	}
	if err := c.RegisterExtended(ep.handlers()); err != nil {
		return nil, err
	}
	c.OnAdvance(ep.advance)
	c.OnLocate(ep.onLocate)
	// Peers may have sent something by now, but the first poll comes after all that.
	ep.world, err = ep.newTeam(worldID, group.Ascending(c.Group()))
	return ep, err
}

// forcedOf returns the algorithms that the job's configuration names. What it needs of a modelled rank's stack is given back.
//
//go:noinline
func forcedOf(job *core.Job) (coll.Forced, error) {
	forced, err := coll.ParseForced(job.Config().Collectives)
	if err != nil {
		return forced, &core.UsageError{Rank: job.Rank(), Op: "extended.Attach", Msg: "collectives: " + err.Error()}
	}
	return forced, nil
}

// newEndpoint puts an endpoint on one of core.
func newEndpoint(job *core.Job, c *core.Endpoint, forced coll.Forced, later bool) *Endpoint {
	cfg := job.Config()
	ep := &Endpoint{core: c, forced: forced, later: later, single: cfg.Threads == core.Single || job.Modelled()}
	ep.Context.init(&c.Context, ep)
	l := c.Limits()
	ep.piece = pieces{put: min(smallPut, l.MaxMediumRequest), get: l.MaxMediumReply, long: l.MaxLongRequest, longReply: l.MaxLongReply}
	ep.ops.single = ep.single
	ep.debug = cfg.Debug
	ep.piece.coll = min(l.MaxMediumRequest, l.MaxMediumReply, engine.MaxPart)
	ep.native = natives{put: c.MaxNativePut(), get: c.MaxNativeGet(), collective: c.MaxNativeCollective()}
	ep.teams = make(map[uint64]*Team)
	return ep
}

// AttachSegment makes the rank's segment after an Attach with core.AttachSpec.SegmentLater; see
// core.Context.AttachSegment, whose rules hold: it is this one that is called, not that of the context
// below. It counts as a collective call of the world, and is a barrier. Other goroutines may use teams and make
// some meanwhile; what depends on segments, Neighborhood included, they may call when it has returned. Teams that
// were made before it, or partly so, do not come to have direct reach (Team.Reach), except the world.
func (c *Context) AttachSegment(size string) error {
	ep := c.ep
	if err := c.Context.AttachSegment(size); err != nil {
		return err
	}
	var err error
	if e := c.Exclusively(func() { ep.later, err = false, ep.reachPeers() }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	return ep.world.settle(c) // after which all know where peers' puts go
}

// MaxSegment is core.Job.MaxSegment for a job that this package's Attach attaches.
func MaxSegment(job *core.Job, spec core.AttachSpec) (int, error) {
	spec.Extra = auxiliary
	return job.MaxSegment(spec)
}

// MaxSegmentOfAll is core.Job.MaxSegmentOfAll for a job that this package's Attach attaches.
func MaxSegmentOfAll(job *core.Job, spec core.AttachSpec) (int, error) {
	spec.Extra = auxiliary
	return job.MaxSegmentOfAll(spec)
}

// reachPeers maps the segments that can be reached.
func (ep *Endpoint) reachPeers() error {
	self := ep.Rank()
	ep.extra = ep.core.Extra()
	ep.scratch.Size = ep.extra
	ep.whole.set(self, ep.core.Segment())
	if ep.core.Reaches() {
		for _, r := range ep.core.Group() {
			mem, err := ep.core.Reach(r)
			if err != nil {
				return fmt.Errorf("extended: rank %d: reach rank %d: %w", self, r, err)
			}
			if r != self && mem != nil {
				ep.whole.set(r, mem)
			}
		}
	}
	ep.reach = ep.whole.without(ep.extra)
	if !ep.debug && !ep.core.Watched() { // else calls go where they are checked, and noted
		ep.direct = ep.reach
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
		{Index: handlerCollCredit, Func: ep.onCollCredit, Name: "collective, credit"},
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
func (ep *Endpoint) Segment() []byte { return ep.reach.of(ep.Rank()) }

// SegmentSize returns the bytes of the client's part of rank's segment, 0 for a rank
// outside the group. A handler may call it.
func (ep *Endpoint) SegmentSize(rank core.Rank) int {
	return max(0, ep.core.SegmentSize(rank)-ep.extra)
}

// Local returns the client's part of rank's segment as memory of this process, or nil if
// this process does not reach it: then Put and Get are the way. Stores are visible to all
// as between threads of a process; a following message or put to the rank arrives after
// them. A handler may call it.
func (ep *Endpoint) Local(rank core.Rank) []byte {
	return ep.reach.of(rank)
}

// Direct is Local for the layers above whose calls, like Put, are not allowed in a handler:
// memory to access at once, without a check. In debug mode, and where the job is watched, it is nil for every rank, so that
// such calls go by Put and Get, which refuse what is not allowed.
func (ep *Endpoint) Direct(rank core.Rank) []byte {
	return ep.direct.of(rank)
}

// misuse makes the error of a call that breaks a rule; in debug mode it ends the job.
func (ep *Endpoint) misuse(op, format string, args ...any) error {
	return ep.core.Misuse(op, format, args...)
}

// outside makes the error of a range that does not lie in the client's part of a segment.
func (ep *Endpoint) outside(op string, rank core.Rank, off uint64, n int) error {
	switch {
	case rank == -1:
		return ep.misuse(op, "a nil pointer, or rank -1; the job has ranks 0 to %d", ep.Size()-1)
	case uint(rank) >= uint(ep.Size()):
		return ep.misuse(op, "no rank %d in a job of %d", rank, ep.Size())
	case ep.later:
		return ep.misuse(op, "rank %d has no segment yet; AttachSegment makes it", rank)
	}
	return ep.misuse(op, "bytes %d to %d lie outside rank %d's segment of %d bytes", off, off+uint64(n), rank, ep.SegmentSize(rank))
}

// inside reports whether n bytes at off lie in the client's part of rank's segment.
func (ep *Endpoint) inside(rank core.Rank, off uint64, n int) bool {
	size := uint64(ep.SegmentSize(rank))
	return uint(rank) < uint(ep.Size()) && off <= size && uint64(n) <= size-off
}
