package engine

import "github.com/aqueduct-go/aqueduct/internal/sparse"

// A peer may not have begun the call that a message belongs to, and then keeps the message.
// So that this stays bounded, a member has credit at each other one: a window of bytes per team. What
// has found its call uses no credit any more: the peer counts it and gives it back from time to time.
//
// There are two windows. One is for the sender's oldest call, the other for newer ones,
// which so cannot use up what the oldest needs to go on. This keeps programs from
// deadlocking: a peer that leaves the oldest call's window full has not begun that call, so
// what it waits for is an older one, to which this member has nothing more to send.
const (
	creditWindow = 256 << 10
	messageCost  = 1 << 10 // what a message counts besides its payload
)

// The windows.
const (
	oldestCall = iota
	newerCalls
	windows
)

// MaxPart is the largest payload of a part: a window may be exceeded by one.
const MaxPart = 64 << 10

// Cost is what a message of so many bytes counts where messages are kept.
func Cost(payload int) int { return payload + messageCost }

// credit is what passed between this member and another one.
type credit struct {
	used  [windows]int // sent, and not given back
	kept  [windows]int // received, of calls that have not been begun
	found [windows]int // received and found, and not given back yet
}

// credits has a team's, by member.
type credits struct{ sparse.Table[credit] }

// keep notes a part that is to be kept; it reports whether that is more than there was credit for.
func (l *credits) keep(member int, window uint32, n int) (exceeded bool) {
	x := l.At(member)
	x.kept[window] += Cost(n)
	return x.kept[window] > creditWindow+Cost(MaxPart)
}

// unkeep notes that a part is kept no more.
func (l *credits) unkeep(member int, window uint32, n int) { l.At(member).kept[window] -= Cost(n) }

// find notes that a part has found its call, kept before or not, and returns how much is
// to be given back now.
func (l *credits) find(member int, window uint32, n int) (back uint32) {
	x := l.At(member)
	if x.found[window] += Cost(n); x.found[window] < creditWindow/4 {
		return 0
	}
	back, x.found[window] = uint32(x.found[window]), 0
	return back
}
