package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
)

// A peer may not have begun the call that a message belongs to, and then keeps the message.
// So that this stays bounded, a sender lends a peer at most a window of bytes: at half of it
// a message asks for confirmation, which comes when the message has found its call; then
// what was lent until that message is back.
const (
	lendingWindow = 256 << 10
	messageCost   = 1 << 10 // what a message counts besides its payload
)

// lending is what is lent to a peer.
type lending struct {
	lent    int  // bytes, and messageCost for every message
	asked   int  // of those, what an outstanding confirmation will give back
	waiting bool // a confirmation is outstanding
}

// mayLend reports whether a message may go to dst now, and what confirmation it should ask
// for, 0 for none. If not, the team will be engaged when it may.
func (ep *Endpoint) mayLend(t *Team, dst core.Rank) (confirm uint32, ok bool) {
	l := &ep.lending[dst]
	switch {
	case l.lent >= lendingWindow:
		ep.stalled = append(ep.stalled, t)
		return 0, false
	case l.lent >= lendingWindow/2 && !l.waiting:
		return 1, true
	}
	return 0, true
}

// lend notes that a message of n bytes has gone.
func (ep *Endpoint) lend(dst core.Rank, n int, confirm uint32) {
	l := &ep.lending[dst]
	l.lent += n + messageCost
	if confirm != 0 {
		l.asked, l.waiting = l.lent, true
	}
}

// confirm tells src that the message which asked for it has found its call: by a reply in
// the message's handler, else by a request.
func (ep *Endpoint) confirm(tok *core.Token, src core.Rank, what uint32) {
	if tok != nil {
		ep.reply(tok, handlerCollCredit, what)
		return
	}
	ep.confirmations = append(ep.confirmations, src)
	ep.core.Kick()
}

// sendConfirmations sends those that could not be replies.
func (ep *Endpoint) sendConfirmations(c *core.Context) (did int) {
	for len(ep.confirmations) > 0 {
		dst := ep.confirmations[len(ep.confirmations)-1]
		err := c.TryShort(dst, handlerCollCredit, 1)
		switch {
		case err == nil:
			ep.confirmations = ep.confirmations[:len(ep.confirmations)-1]
			did++
		case err == core.ErrNoRoom:
			ep.core.Kick()
			return did
		default:
			ep.core.Fail(err)
			return did
		}
	}
	return did
}

// onCollCredit handles [1]: a confirmation.
func (ep *Endpoint) onCollCredit(tok *core.Token, args []uint32, _ []byte) {
	l := &ep.lending[tok.Src()]
	if len(args) != 1 || !l.waiting {
		ep.malformed(tok, "nothing is to be confirmed")
		return
	}
	l.lent -= l.asked
	l.asked, l.waiting = 0, false
	for i, t := range ep.stalled {
		ep.engage(t)
		ep.stalled[i] = nil
	}
	ep.stalled = ep.stalled[:0]
}
