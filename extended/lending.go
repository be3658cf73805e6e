package extended

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
)

// A peer may not have begun the call that a message belongs to, and then keeps the message.
// So that this stays bounded, a member lends each other one a window of bytes per team. What
// has found its call is lent no more: the peer counts it and gives it back from time to time.
//
// There are two windows. One is for the sender's oldest call, the other for newer ones,
// which so cannot use up what the oldest needs to go on. This keeps programs from
// deadlocking: a peer that leaves the oldest call's window full has not begun that call, so
// what it waits for is an older one, to which this member has nothing more to send.
const (
	lendingWindow = 256 << 10
	messageCost   = 1 << 10 // what a message counts besides its payload
)

// The windows.
const (
	oldestCall = iota
	newerCalls
	budgets
)

func cost(payload int) int { return payload + messageCost }

// loan is what passed between this member and another one.
type loan struct {
	lent  [budgets]int // sent, and not given back
	kept  [budgets]int // received, of calls that have not been begun
	found [budgets]int // received and found, and not given back yet
}

// loans has a team's, by member.
type loans struct{ sparse.Table[loan] }

// keep notes a part that is to be kept; it reports whether that is more than was lent.
func (l *loans) keep(member int, which uint32, n int) (exceeded bool) {
	x := l.At(member)
	x.kept[which] += cost(n)
	return x.kept[which] > lendingWindow+cost(maxPart)
}

// maxPart is the largest payload of a part: a window may be exceeded by one.
const maxPart = 64 << 10

// unkeep notes that a part is kept no more.
func (l *loans) unkeep(member int, which uint32, n int) { l.At(member).kept[which] -= cost(n) }

// found notes that a part has found its call, kept before or not, and returns how much is
// to be given back now.
func (l *loans) found(member int, which uint32, n int) (back uint32) {
	x := l.At(member)
	if x.found[which] += cost(n); x.found[which] < lendingWindow/4 {
		return 0
	}
	back, x.found[which] = uint32(x.found[which]), 0
	return back
}

// confirmation gives back what was lent.
type confirmation struct {
	dst   core.Rank
	team  *Team
	which uint32
	back  uint32
}

// confirm gives back by a request, where no reply can.
func (ep *Endpoint) confirm(dst core.Rank, t *Team, which, back uint32) {
	ep.confirmations = append(ep.confirmations, confirmation{dst, t, which, back})
	ep.core.Kick()
}

// sendConfirmations sends those for which there is room.
func (ep *Endpoint) sendConfirmations(c *core.Context) (did int) {
	if len(ep.confirmations) == 0 {
		return 0
	}
	wait := ep.confirmations[:0]
	for _, x := range ep.confirmations {
		err := c.TryShort(x.dst, handlerCollCredit, uint32(x.team.id), uint32(x.team.id>>32), uint32(x.team.self), x.which, x.back)
		switch {
		case err == nil:
			did++
		case errors.Is(err, core.ErrNoRoom):
			wait = append(wait, x)
			ep.core.Kick()
		default:
			ep.core.Fail(err)
			return did
		}
	}
	clear(ep.confirmations[len(wait):])
	ep.confirmations = wait
	return did
}

// onCollCredit handles [team, team, from, which, bytes]: what was lent comes back.
func (ep *Endpoint) onCollCredit(tok *core.Token, args []uint32, _ []byte) {
	if len(args) != 5 {
		ep.malformed(tok, "%d arguments", len(args))
		return
	}
	t := ep.teams[join(args[0], args[1])]
	if t == nil {
		return // it was freed meanwhile
	}
	from, which, back := args[2], args[3], int(args[4])
	if from >= uint32(len(t.members)) || t.members[from] != tok.Src() || which >= budgets {
		ep.malformed(tok, "it is not member %d of %v", from, t)
		return
	}
	l := t.calls.loans.At(int(from))
	if back > l.lent[which] {
		ep.malformed(tok, "%d bytes come back and %d were lent", back, l.lent[which])
		return
	}
	l.lent[which] -= back
	t.calls.again()
}
