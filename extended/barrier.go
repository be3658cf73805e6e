package extended

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

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

// barrier is a team's split-phase barrier: a dissemination (Hensgen, Finkel, Manber 1988) of
// some radix k. In round r a member tells those j·k^r places on, 0 < j < k, what it knows and
// waits for those as many places back. A member that is ahead is so by one barrier at most,
// so two sets of arrivals suffice.
type barrier struct {
	team     *Team
	radix    int
	step     []int // by round: radix^r
	whole    []uint32
	epoch    uint32
	notified bool
	round    int           // rounds before it are over
	sent     int           // messages of it that have been sent
	own      name          // as notified
	known    name          // of all members heard of in rounds that are over
	last     name          // of the barrier before
	arrived  [2][]arrivals // by round
	early    []*stray      // messages of members that have made the team before this one
}

// arrivals are what has come in a round: bit j-1 is set by the message from j·k^r places
// back.
type arrivals struct {
	from uint32
	told name // together
}

// Radices of barriers: where a message is a few stores, several a round are better than more
// rounds; elsewhere every message has its cost.
const (
	radixReach = 4
	radixOther = 2
)

// init prepares for the first barrier of n members. It returns the messages that came before.
func (b *barrier) init(n int, reach bool) (early []*stray) {
	b.radix = radixOther
	if reach {
		b.radix = max(2, min(n, radixReach))
	}
	for step := 1; step < n; step *= b.radix {
		b.step = append(b.step, step)
		var whole uint32
		for j := 1; j < b.radix && j*step < n; j++ {
			whole |= 1 << (j - 1)
		}
		b.whole = append(b.whole, whole)
	}
	for set := range b.arrived {
		b.arrived[set] = make([]arrivals, len(b.step))
	}
	b.last = name{flags: Mismatch}
	early, b.early = b.early, nil
	return early
}

// done reports whether all members have notified.
func (b *barrier) done() bool { return b.round == len(b.step) }

// take ends the present round if everything has been sent and has arrived.
func (b *barrier) take() bool {
	a := &b.arrived[b.epoch&1][b.round]
	if a.from != b.whole[b.round] || b.sent != bits.OnesCount32(a.from) {
		return false
	}
	b.known = b.known.merge(a.told)
	*a = arrivals{}
	b.round++
	b.sent = 0
	return true
}

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
	b.round, b.sent = 0, 0
	t.disseminate(c.Context)
}

// disseminate sends what is due. It runs where handlers run.
func (t *Team) disseminate(c *core.Context) (did int) {
	b := &t.barrier
	if !b.notified {
		return 0
	}
	for !b.done() {
		for b.whole[b.round]>>b.sent != 0 {
			peer := t.members[(t.self+(b.sent+1)*b.step[b.round])%len(t.members)]
			err := c.TryShort(peer, handlerBarrier, uint32(t.id), uint32(t.id>>32), b.epoch,
				uint32(b.round)<<8|uint32(b.sent), uint32(b.known.flags), uint32(b.known.id))
			if err != nil {
				t.later(err)
				return did
			}
			b.sent++
			did++
		}
		if !b.take() {
			return did
		}
		did++
	}
	return did
}

// maxEarly bounds what peers may send before a rank has made the team: more than a barrier
// takes, of which nobody gets further.
const maxEarly = 1 << 10

// onBarrier handles [team, team, epoch, round and number in it, flags, id].
func (t *Team) onBarrier(_ *core.Token, src core.Rank, args []uint32, _ []byte) error {
	b := &t.barrier
	if len(args) != 6 {
		return fmt.Errorf("%d arguments", len(args))
	}
	if b.radix == 0 {
		if len(b.early) >= maxEarly {
			return fmt.Errorf("more than %d messages before the team is made", maxEarly)
		}
		b.early = append(b.early, &stray{src, (*Team).onBarrier, slices.Clone(args), nil})
		return nil
	}
	epoch, round, number := args[2], int(args[3]>>8), int(args[3]&0xff)
	n := len(t.members)
	if round >= len(b.step) || b.whole[round]>>number&1 == 0 || src != t.members[(t.self+n-(number+1)*b.step[round])%n] {
		return fmt.Errorf("message %d of round %d is not for it to send", number, round)
	}
	a := &b.arrived[epoch&1][round]
	if ahead := epoch - b.epoch; ahead > 1 || ahead == 0 && (!b.notified || round < b.round) || a.from>>number&1 != 0 {
		return fmt.Errorf("it is in barrier %d, this rank in %d", epoch, b.epoch)
	}
	says := name{BarrierFlags(args[4]), int32(args[5])}
	if a.from == 0 {
		a.told = says
	} else {
		a.told = a.told.merge(says)
	}
	a.from |= 1 << number
	if epoch == b.epoch && round == b.round && b.take() && !b.done() {
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
	return true, t.finishBarrier(c, name{flags, id})
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
	if err := c.WaitCall("WaitBarrier", b, func() bool { return b.done() }); err != nil {
		return err
	}
	return t.finishBarrier(c, name{flags, id})
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
func (t *Team) finishBarrier(c *Context, end name) (err error) {
	if e := c.Exclusively(func() { err = t.barrier.finish(end) }); e != nil {
		return e
	}
	return err
}

func (b *barrier) finish(end name) error {
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
