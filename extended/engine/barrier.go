package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/extended/coll"
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

// Barrier is a team's split-phase barrier. It carries out a barrier's schedule (package coll) with a name in every signal:
// a member tells what it knows of those it has heard of.
type Barrier struct {
	*barrierState // nil before Init
}

// barrierState is all that there is of a barrier, in types that code in another language has too; see Barrier.Relocate.
type barrierState struct {
	moves    *move
	hears    *hearing
	movesLen uint32
	hearsLen uint32
	epoch    uint32
	done     uint32 // moves that are over
	notified bool
	own      Name // as notified
	known    Name // of all members heard of
	last     Name // of the barrier before
}

// move is a step of a barrier: a notice to a member, or a wait for one.
type move struct {
	to     int32 // -1: wait
	number int32 // of the notice among those to the member; of a wait, the index of what is waited for
}

// hearing is a notice that comes in every barrier. A member that is ahead is so by one barrier at most, since it takes
// all to end one, so there is room for those of two.
type hearing struct {
	from, number int32
	here         [2]bool // by the low bit of the epoch
	told         [2]Name
}

// Notice is a message of a barrier.
type Notice struct {
	Epoch  uint32 // the barrier's number
	Number int    // of the notice, among those of the sender to this receiver in the barrier
	Name   Name   // of all whom the sender has heard of
}

// Radices of disseminations: where a message is a few stores, several a round are better than more
// rounds; elsewhere every message has its cost.
const (
	radixReach = 4
	radixOther = 2
)

// Init prepares for the first barrier of a team. reach says that members reach each other's memory. If hosts is not nil,
// barriers are in two levels, else disseminations (Hensgen, Finkel, Manber 1988).
func (b *Barrier) Init(members, self int, reach bool, hosts *coll.Hosts) {
	text := fmt.Sprintf("dissemination:%d", radixOther)
	switch {
	case hosts != nil:
		text = coll.TwoLevel
	case reach:
		text = fmt.Sprintf("dissemination:%d", max(2, min(members, radixReach)))
	}
	forced, err := coll.ParseForced(coll.Barrier.String() + "=" + text)
	if err != nil {
		panic(err) // both are barriers
	}
	s, err := coll.Build(&coll.Call{Op: coll.Barrier, N: members, Self: self, Hosts: hosts}, forced[coll.Barrier])
	if err != nil {
		panic(err) // both do for any team, as its hosts are the team's
	}
	var hears []hearing
	for _, r := range s.Recvs {
		hears = append(hears, hearing{from: int32(r.Peer), number: int32(r.Number)})
	}
	var moves []move
	for _, x := range s.Steps {
		if x.Kind == coll.Send {
			moves = append(moves, move{int32(x.Peer), int32(x.Number)})
		} else {
			moves = append(moves, move{-1, int32(x.Msg)})
		}
	}
	b.barrierState = &barrierState{last: Name{Flags: Mismatch}}
	b.setSchedule(moves, hears)
}

// Ready reports whether Init was called.
func (b *Barrier) Ready() bool { return b.barrierState != nil }

// Epoch returns how many barriers were begun.
func (b *Barrier) Epoch() uint32 {
	if !b.Ready() {
		return 0
	}
	return b.epoch
}

// Notified reports whether a barrier was begun that Finish has not ended.
func (b *Barrier) Notified() bool { return b.Ready() && b.notified }

// Done reports whether all members have notified.
func (b *Barrier) Done() bool { return b.done == b.movesLen }

// Begin begins the next barrier; Advance is to be called then.
func (b *Barrier) Begin(n Name) {
	b.notified, b.own, b.known = true, n, n
	b.epoch++
	b.done = 0
}

// Advance sends what is due, until that reports that there is no room: then it is to be called again. It returns
// how much was done.
func (b *Barrier) Advance(send func(to int, n Notice) bool) (did int) {
	if !b.Notified() {
		return 0
	}
	for {
		did += b.take()
		if !b.sends() {
			return did
		}
		m := b.step()
		if !send(int(m.to), Notice{b.epoch, int(m.number), b.known}) {
			return did
		}
		b.done++
		did++
	}
}

// step returns the step that is due.
func (b *Barrier) step() move { return b.steps()[b.done] }

// sends reports whether a notice is due.
func (b *Barrier) sends() bool { return !b.Done() && b.step().to >= 0 }

// take takes what is waited for and has come, and returns how many notices these are.
func (b *Barrier) take() (n int) {
	set := b.epoch & 1
	for ; !b.Done() && b.step().to < 0; n++ {
		h := &b.hearings()[b.step().number]
		if !h.here[set] {
			return n
		}
		h.here[set] = false
		b.known = b.known.merge(h.told[set])
		b.done++
	}
	return n
}

// Arrive takes a notice that has come from a member, and reports whether Advance is to be called. The error says what is
// wrong with the notice.
func (b *Barrier) Arrive(from int, n Notice) (goOn bool, err error) {
	i := slices.IndexFunc(b.hearings(), func(h hearing) bool { return int(h.from) == from && int(h.number) == n.Number })
	if i < 0 {
		return false, fmt.Errorf("notice %d is not for member %d to send", n.Number, from)
	}
	h, set := &b.hearings()[i], n.Epoch&1
	if ahead := n.Epoch - b.epoch; ahead > 1 || ahead == 0 && (!b.notified || b.heard(i)) || h.here[set] {
		return false, fmt.Errorf("it is in barrier %d, this rank in %d", n.Epoch, b.epoch)
	}
	h.here[set], h.told[set] = true, n.Name
	return n.Epoch == b.epoch && b.take() > 0 && b.sends(), nil
}

// heard reports whether this barrier has waited for a notice already.
func (b *Barrier) heard(i int) bool { return slices.Contains(b.steps()[:b.done], move{-1, int32(i)}) }

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
