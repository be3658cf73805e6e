package extended

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// ErrMismatch is the outcome of a barrier whose members disagreed on its name. The barrier
// is complete all the same (GASNET_ERR_BARRIER_MISMATCH).
var ErrMismatch = engine.ErrMismatch

// BarrierFlags qualify a barrier's name.
type BarrierFlags = engine.Flags

const (
	// Anonymous matches any name; the id is ignored (GASNET_BARRIERFLAG_ANONYMOUS).
	Anonymous = engine.Anonymous
	// Mismatch forces a mismatch on every member (GASNET_BARRIERFLAG_MISMATCH).
	Mismatch = engine.Mismatch
)

// barrier is a team's split-phase barrier.
type barrier struct {
	engine.Barrier
	team       *Team
	unexpected []*unexpected // messages of members that have made the team before this one
	span       *core.Span    // of the barrier that was notified; see operation
}

// makeReady prepares for the first barrier; reach is as for Init. It returns the unexpected messages.
func (b *barrier) makeReady(reach bool) (unexpected []*unexpected) {
	b.Init(b.team.Size(), b.team.self, reach, b.team.barrierHosts(reach))
	unexpected, b.unexpected = b.unexpected, nil
	return unexpected
}

// barrierHosts returns the hosts of the members if barriers are to be in two levels, by the job's choice or the table's.
func (t *Team) barrierHosts(reach bool) *coll.Hosts {
	choice, err := coll.Choose(&coll.Call{Op: coll.Barrier, N: t.Size(), Self: t.self, Reach: reach, Hosts: t.hosts}, t.ep.forced)
	if err != nil || choice.Algorithm.Name != coll.TwoLevel {
		return nil
	}
	return t.hosts
}

// Notify begins a barrier with a name (gasnet_barrier_notify); TryBarrier or WaitBarrier ends
// it. It does not wait for peers. One goroutine of a rank calls a team's barriers.
func (t *Team) Notify(c *Context, id int32, flags BarrierFlags) error {
	if err := t.use(c, "Notify"); err != nil {
		return err
	}
	b := &t.barrier
	if b.Notified() {
		return t.ep.misuse("Notify", "the barrier was notified already; wait for it first")
	}
	return t.beginBarrier(c, engine.Name{Flags: flags, ID: id})
}

// splitPhase is what barriers of this kind are called where calls are counted.
const splitPhase = "split-phase barrier"

func (t *Team) beginBarrier(c *Context, n engine.Name) error {
	t.barrier.span = t.ep.core.NoteCollective(splitPhase, 0)
	return c.Exclusively(func() {
		t.barrier.Begin(n)
		t.disseminate(c.Context)
	})
}

// disseminate sends what is due. It runs where handlers run.
func (t *Team) disseminate(c *core.Context) (did int) {
	return t.barrier.Advance(func(to int, n engine.Notice) bool {
		err := c.TryShort(t.members.At(to), handlerBarrier, uint32(t.id), uint32(t.id>>32), n.Epoch,
			uint32(n.Number), uint32(n.Name.Flags), uint32(n.Name.ID))
		if err != nil {
			t.later(err)
		}
		return err == nil
	})
}

// maxUnexpectedNotices bounds what peers may send before a rank has made the team: more than a barrier
// takes, of which nobody gets further.
const maxUnexpectedNotices = 1 << 10

// onBarrier handles [team, team, epoch, number, flags, id].
func (t *Team) onBarrier(_ *core.Token, src core.Rank, args []uint32, _ []byte) error {
	b := &t.barrier
	if len(args) != 6 {
		return fmt.Errorf("%d arguments", len(args))
	}
	if !b.Ready() {
		if len(b.unexpected) >= maxUnexpectedNotices {
			return fmt.Errorf("more than %d messages before the team is made", maxUnexpectedNotices)
		}
		b.unexpected = append(b.unexpected, &unexpected{src, (*Team).onBarrier, slices.Clone(args), nil})
		return nil
	}
	n := engine.Notice{Epoch: args[2], Number: int(args[3]), Name: engine.Name{Flags: BarrierFlags(args[4]), ID: int32(args[5])}}
	goOn, err := b.Arrive(t.members.RankOf(src), n)
	if goOn {
		t.ep.engage(t)
	}
	return err
}

// TryBarrier ends the barrier if all members have notified and reports whether it has;
// otherwise nothing happens but a poll (gasnet_barrier_try). For the name see WaitBarrier.
func (t *Team) TryBarrier(c *Context, id int32, flags BarrierFlags) (bool, error) {
	if err := t.barrierBegun(c, "TryBarrier"); err != nil {
		return false, err
	}
	if err := c.Poll(); err != nil {
		return false, err
	}
	var done bool
	if err := c.Exclusively(func() { done = t.barrier.Done() }); err != nil || !done {
		return false, err
	}
	return true, t.finishBarrier(c, engine.Name{Flags: flags, ID: id})
}

// WaitBarrier polls until all members have notified and ends the barrier
// (gasnet_barrier_wait). The error is ErrMismatch if two members gave different names, or
// one of them forced it; or if id is a name other than the one notified or, after an
// anonymous notify, the one agreed upon.
func (t *Team) WaitBarrier(c *Context, id int32, flags BarrierFlags) error {
	if err := t.barrierBegun(c, "WaitBarrier"); err != nil {
		return err
	}
	return t.awaitBarrier(c, "WaitBarrier", engine.Name{Flags: flags, ID: id})
}

func (t *Team) awaitBarrier(c *Context, call string, end engine.Name) error {
	b := &t.barrier
	if err := c.WaitCall(call, b, func() bool { return b.Done() }); err != nil {
		return err
	}
	return t.finishBarrier(c, end)
}

func (t *Team) barrierBegun(c *Context, call string) error {
	if err := t.use(c, call); err != nil {
		return err
	}
	if !t.barrier.Notified() {
		return t.ep.misuse(call, "no barrier was notified")
	}
	return nil
}

func (t *Team) finishBarrier(c *Context, end engine.Name) (err error) {
	if e := c.Exclusively(func() { err = t.barrier.Finish(end) }); e != nil {
		return e
	}
	t.barrier.span.End()
	return err
}

// BarrierResult returns the name that the last barrier agreed on; false if all members were
// anonymous or there was a mismatch (gasnet_barrier_result).
func (t *Team) BarrierResult() (id int32, named bool) {
	last := t.barrier.Last()
	return last.ID, last.Flags == 0
}

// Barrier returns when all members have called it. It is an anonymous notify and wait.
func (t *Team) Barrier(c *Context) error {
	if err := t.use(c, "Barrier"); err != nil {
		return err
	}
	if t.barrier.Notified() {
		return t.ep.misuse("Barrier", "a barrier was notified already; wait for it first")
	}
	anonymous := engine.Name{Flags: Anonymous}
	if err := t.beginBarrier(c, anonymous); err != nil {
		return err
	}
	return t.awaitBarrier(c, "Barrier", anonymous)
}
