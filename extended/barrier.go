package extended

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// ErrMismatch is the outcome of a barrier whose members disagreed on its name. The barrier
// is complete all the same (GASNET_ERR_BARRIER_MISMATCH).
var ErrMismatch = errors.New("extended: barrier mismatch")

// BarrierFlags qualify a barrier's name.
type BarrierFlags uint8

const (
	// Anonymous matches any name; the id is ignored (GASNET_BARRIERFLAG_ANONYMOUS).
	Anonymous BarrierFlags = 1 << iota
	// Mismatch forces a mismatch on every member (GASNET_BARRIERFLAG_MISMATCH).
	Mismatch
)

// name is what is known of a barrier's name: of one member, or of several together.
type name struct {
	flags BarrierFlags
	id    int32
}

// merge returns what two sets of members make up: the operation is idempotent, so that
// the rounds of a dissemination may count a member twice.
func (a name) merge(b name) name {
	switch {
	case (a.flags|b.flags)&Mismatch != 0:
		return name{flags: Mismatch}
	case a.flags&Anonymous != 0:
		return b
	case b.flags&Anonymous != 0 || a.id == b.id:
		return a
	}
	return name{flags: Mismatch}
}

// barrier is a team's split-phase barrier: a dissemination (Hensgen, Finkel, Manber 1988).
// In round k a member tells the one 2^k places on what it knows and waits for the one 2^k
// places back. A member that is ahead is so by one barrier at most, so two sets of arrivals
// suffice.
type barrier struct {
	rounds   int
	epoch    uint32
	notified bool
	sent     int  // rounds whose message has been sent
	got      int  // rounds in a row whose message has been taken
	own      name // as notified
	known    name // of all members heard of
	last     name // of the barrier before
	arrived  [2][32]bool
	told     [2][32]name
}

func (b *barrier) init(n int) {
	for 1<<b.rounds < n {
		b.rounds++
	}
	b.last = name{flags: Mismatch}
}

// done reports whether all members have notified.
func (b *barrier) done() bool { return b.got == b.rounds }

// Notify begins a barrier with a name (gasnet_barrier_notify); TryBarrier or WaitBarrier ends
// it. It does not wait for peers. One goroutine of a rank calls a team's barriers.
func (t *Team) Notify(c *Context, id int32, flags BarrierFlags) error {
	if err := t.use(c, "Notify"); err != nil {
		return err
	}
	b := &t.barrier
	if b.notified {
		return t.ep.misuse("Notify", "the barrier was notified already; wait for it first")
	}
	return c.Exclusively(func() { t.notify(c, name{flags, id}) })
}

func (t *Team) notify(c *Context, n name) {
	b := &t.barrier
	b.notified, b.own, b.known = true, n, n
	b.epoch++
	b.sent, b.got = 0, 0
	t.disseminate(c.Context)
}

// disseminate sends what is due. It runs where handlers run.
func (t *Team) disseminate(c *core.Context) (did int) {
	b := &t.barrier
	if !b.notified {
		return 0
	}
	set := b.epoch & 1
	for {
		if b.sent == b.got && b.sent < b.rounds {
			peer := t.members[(t.self+1<<b.sent)%len(t.members)]
			err := c.TryShort(peer, handlerBarrier, uint32(t.id), uint32(t.id>>32), b.epoch, uint32(b.sent), uint32(b.known.flags), uint32(b.known.id))
			if err != nil {
				t.later(err)
				return did
			}
			b.sent++
			did++
		}
		if b.got == b.sent || !b.arrived[set][b.got] {
			return did
		}
		b.known = b.known.merge(b.told[set][b.got])
		b.arrived[set][b.got] = false
		b.got++
		did++
	}
}

// onBarrier handles [team, team, epoch, round, flags, id].
func (t *Team) onBarrier(_ *core.Token, src core.Rank, args []uint32, _ []byte) error {
	b := &t.barrier
	if len(args) != 6 {
		return fmt.Errorf("%d arguments", len(args))
	}
	epoch, round := args[2], args[3]
	if round >= uint32(b.rounds) || src != t.members[(t.self-1<<round%len(t.members)+len(t.members))%len(t.members)] {
		return fmt.Errorf("round %d is not for it to send", round)
	}
	if ahead := epoch - b.epoch; ahead > 1 || ahead == 0 && !b.notified || b.arrived[epoch&1][round] {
		return fmt.Errorf("it is in barrier %d, this rank in %d", epoch, b.epoch)
	}
	b.arrived[epoch&1][round] = true
	b.told[epoch&1][round] = name{BarrierFlags(args[4]), int32(args[5])}
	if epoch == b.epoch && int(round) == b.got && b.notified {
		if b.sent > b.got && b.got+1 == b.rounds { // nothing more to send
			b.known = b.known.merge(b.told[epoch&1][round])
			b.arrived[epoch&1][round] = false
			b.got++
			return nil
		}
		t.ep.engage(t)
	}
	return nil
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
	if err := c.Exclusively(func() { done = t.barrier.done() }); err != nil || !done {
		return false, err
	}
	return true, t.finishBarrier(name{flags, id})
}

// WaitBarrier polls until all members have notified and ends the barrier
// (gasnet_barrier_wait). The error is ErrMismatch if two members gave different names, or
// one of them forced it; or if id is a name other than the one notified or, after an
// anonymous notify, the one agreed upon.
func (t *Team) WaitBarrier(c *Context, id int32, flags BarrierFlags) error {
	if err := t.barrierBegun(c, "WaitBarrier"); err != nil {
		return err
	}
	b := &t.barrier
	if err := c.WaitUntil(func() bool { return b.got == b.rounds }); err != nil {
		return err
	}
	return t.finishBarrier(name{flags, id})
}

func (t *Team) barrierBegun(c *Context, call string) error {
	if err := t.use(c, call); err != nil {
		return err
	}
	if !t.barrier.notified {
		return t.ep.misuse(call, "no barrier was notified")
	}
	return nil
}

// finishBarrier compares the name given at the end, by the rules that GASNet's releases
// follow since 1.20.
func (t *Team) finishBarrier(end name) error {
	b := &t.barrier
	b.notified = false
	b.last = b.known
	against := b.known
	if b.own.flags&Anonymous == 0 {
		against = b.own
	}
	if b.known.flags&Mismatch != 0 || against.merge(end).flags&Mismatch != 0 {
		b.last = name{flags: Mismatch}
		return ErrMismatch
	}
	return nil
}

// BarrierResult returns the name that the last barrier agreed on; false if all members were
// anonymous or there was a mismatch (gasnet_barrier_result).
func (t *Team) BarrierResult() (id int32, named bool) {
	b := &t.barrier
	return b.last.id, b.last.flags == 0
}

// Barrier returns when all members have called it. It is an anonymous notify and wait.
func (t *Team) Barrier(c *Context) error {
	if err := t.Notify(c, 0, Anonymous); err != nil {
		return err
	}
	return t.WaitBarrier(c, 0, Anonymous)
}
