package engine

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrMismatch is the outcome of a barrier whose members disagreed on its name. The barrier
// is complete all the same (GASNET_ERR_BARRIER_MISMATCH).
var ErrMismatch = errors.New("extended: barrier mismatch")

// Flags qualify a barrier's name.
type Flags uint8

const (
	// Anonymous matches any name; the id is ignored (GASNET_BARRIERFLAG_ANONYMOUS).
	Anonymous Flags = 1 << iota
	// Mismatch forces a mismatch on every member (GASNET_BARRIERFLAG_MISMATCH).
	Mismatch
)

// Name is what is known of a barrier's name: of one member, or of several together.
type Name struct {
	Flags Flags
	ID    int32
}

// merge returns what two sets of members make up: the operation is idempotent, so that
// the rounds of a dissemination may count a member twice.
func (a Name) merge(b Name) Name {
	switch {
	case (a.Flags|b.Flags)&Mismatch != 0:
		return Name{Flags: Mismatch}
	case a.Flags&Anonymous != 0:
		return b
	case b.Flags&Anonymous != 0 || a.ID == b.ID:
		return a
	}
	return Name{Flags: Mismatch}
}

// Barrier is a team's split-phase barrier: a dissemination (Hensgen, Finkel, Manber 1988) of
// some radix k. In round r a member tells those j·k^r places on, 0 < j < k, what it knows and
// waits for those as many places back. A member that is ahead is so by one barrier at most,
// so two sets of arrivals suffice.
type Barrier struct {
	members  int
	self     int
	radix    int
	step     []int // by round: radix^r
	whole    []uint32
	epoch    uint32
	notified bool
	round    int           // rounds before it are over
	sent     int           // messages of it that have been sent
	own      Name          // as notified
	known    Name          // of all members heard of in rounds that are over
	last     Name          // of the barrier before
	arrived  [2][]arrivals // by round
}

// arrivals are what has come in a round: bit j-1 is set by the message from j·k^r places
// back.
type arrivals struct {
	from uint32
	told Name // together
}

// Notice is a message of a barrier.
type Notice struct {
	Epoch  uint32 // the barrier's number
	Round  int
	Number int  // of the message in the round
	Name   Name // of all whom the sender has heard of
}

// Radices of barriers: where a message is a few stores, several a round are better than more
// rounds; elsewhere every message has its cost.
const (
	radixReach = 4
	radixOther = 2
)

// Init prepares for the first barrier of a team. reach says that members reach each other's memory.
func (b *Barrier) Init(members, self int, reach bool) {
	b.members, b.self, b.radix = members, self, radixOther
	if reach {
		b.radix = max(2, min(members, radixReach))
	}
	for step := 1; step < members; step *= b.radix {
		b.step = append(b.step, step)
		var whole uint32
		for j := 1; j < b.radix && j*step < members; j++ {
			whole |= 1 << (j - 1)
		}
		b.whole = append(b.whole, whole)
	}
	for set := range b.arrived {
		b.arrived[set] = make([]arrivals, len(b.step))
	}
	b.last = Name{Flags: Mismatch}
}

// Ready reports whether Init was called.
func (b *Barrier) Ready() bool { return b.radix != 0 }

// Epoch returns how many barriers were begun.
func (b *Barrier) Epoch() uint32 { return b.epoch }

// Notified reports whether a barrier was begun that Finish has not ended.
func (b *Barrier) Notified() bool { return b.notified }

// Done reports whether all members have notified.
func (b *Barrier) Done() bool { return b.round == len(b.step) }

// Begin begins the next barrier; Advance is to be called then.
func (b *Barrier) Begin(n Name) {
	b.notified, b.own, b.known = true, n, n
	b.epoch++
	b.round, b.sent = 0, 0
}

// Advance sends what is due, until that reports that there is no room: then it is to be called again. It returns
// how much was done.
func (b *Barrier) Advance(send func(to int, n Notice) bool) (did int) {
	if !b.notified {
		return 0
	}
	for !b.Done() {
		for b.whole[b.round]>>b.sent != 0 {
			to := b.self + (b.sent+1)*b.step[b.round] // whole has this less than members from self
			if to >= b.members {
				to -= b.members
			}
			if !send(to, Notice{b.epoch, b.round, b.sent, b.known}) {
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

// take ends the present round if everything has been sent and has arrived.
func (b *Barrier) take() bool {
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

// Sender returns the member that sends such a notice to this one, -1 if none does.
func (b *Barrier) Sender(n Notice) int {
	if n.Round >= len(b.step) || b.whole[n.Round]>>n.Number&1 == 0 {
		return -1
	}
	from := b.self - (n.Number+1)*b.step[n.Round]
	if from < 0 {
		from += b.members
	}
	return from
}

// Arrive takes a notice that has come from its Sender, and reports whether Advance is to be called. The error says
// what is wrong with the notice.
func (b *Barrier) Arrive(n Notice) (goOn bool, err error) {
	a := &b.arrived[n.Epoch&1][n.Round]
	if ahead := n.Epoch - b.epoch; ahead > 1 || ahead == 0 && (!b.notified || n.Round < b.round) || a.from>>n.Number&1 != 0 {
		return false, fmt.Errorf("it is in barrier %d, this rank in %d", n.Epoch, b.epoch)
	}
	if a.from == 0 {
		a.told = n.Name
	} else {
		a.told = a.told.merge(n.Name)
	}
	a.from |= 1 << n.Number
	return n.Epoch == b.epoch && n.Round == b.round && b.take() && !b.Done(), nil
}

// Finish ends a barrier that is done. It compares the name given at the end, by the rules that GASNet's releases
// follow since 1.20.
func (b *Barrier) Finish(end Name) error {
	b.notified = false
	b.last = b.known
	against := b.known
	if b.own.Flags&Anonymous == 0 {
		against = b.own
	}
	if b.known.Flags&Mismatch != 0 || against.merge(end).Flags&Mismatch != 0 {
		b.last = Name{Flags: Mismatch}
		return ErrMismatch
	}
	return nil
}

// Last returns the name that the last barrier agreed on.
func (b *Barrier) Last() Name { return b.last }
