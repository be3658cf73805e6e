package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Outcome is how a transfer ended.
type Outcome uint8

const (
	Delivered Outcome = iota // all of it was accepted by the remote adapter
	Busy                     // some was refused: store again at once
	Unknown                  // an answer is missing, and the driver does not know yet how bad that is
	Dead                     // the link or the node is gone: store again after Start has said Delivered
	Aborted                  // DMA only: the queue was stopped
)

// String returns the outcome in a word.
func (o Outcome) String() string {
	switch o {
	case Delivered:
		return "delivered"
	case Busy:
		return "busy"
	case Unknown:
		return "unknown"
	case Dead:
		return "dead"
	case Aborted:
		return "aborted"
	}
	return "unknown outcome"
}

// Account gathers what became of the stores of one sequence, which all go from one node to
// one other. The zero value is ready. It belongs to the node's proc, and must not be copied
// nor dropped while stores are on their way.
type Account struct {
	peer     *Node      // where the last store went
	open     int        // stores that may still be answered
	last     *packet    // of the last store; nil when that is answered
	answered vtime.Time // when the last answer is there
	outcome  Outcome    // the worst so far
	assessed vtime.Time // when the driver knows what an Unknown was
	waiter   *Node      // whose proc waits for the last answer, after TryCheck
}

// settle enters the answer to one store, or that there will be none.
func (a *Account) settle(at vtime.Time, o Outcome, assess vtime.Time) {
	a.open--
	a.answered = max(a.answered, at)
	a.outcome = max(a.outcome, o)
	if o == Unknown {
		a.assessed = max(a.assessed, at+assess)
	}
}

// Start begins a sequence: it reads the adapter's status register. It returns Delivered if stores
// to the peer of acct may go ahead; Dead while the link or the peer is gone; Unknown until the
// driver has looked into an error that Check called Unknown. Only n's own proc may call it, outside
// of events.
func (n *Node) Start(acct *Account) Outcome {
	n.proc.Charge(n.m.profile.PIO.Status)
	n.proc.Sync()
	if acct.peer != nil && !n.m.reaches(n, acct.peer) {
		return Dead
	}
	if acct.assessed > n.proc.Now() {
		return Unknown
	}
	return Delivered
}

// Check is the store barrier: it flushes the gather buffers, waits in virtual time until
// every store of acct is answered or given up, reads the status register, and returns the
// worst outcome, which it clears. Only n's own proc may call it, outside of events.
func (n *Node) Check(acct *Account) Outcome {
	n.Flush()
	for acct.open > 0 {
		n.awaited = acct
		n.proc.Park(0)
	}
	n.awaited = nil
	if wait := acct.answered - n.proc.Now(); wait > 0 {
		n.proc.Charge(wait)
	}
	n.proc.Charge(n.m.profile.PIO.Status)
	return acct.take()
}

// take returns the outcome and clears it.
func (a *Account) take() Outcome {
	o := a.outcome
	a.outcome, a.answered = Delivered, 0
	return o
}

// TryCheck is Check without the wait: it flushes the gather buffers and reads the status
// register, and returns false, with no outcome, if answers are missing then. The proc gets an
// Arrive when the last of them is there. Only n's own proc may call it, outside of events.
func (n *Node) TryCheck(acct *Account) (Outcome, bool) {
	n.Flush()
	n.proc.Charge(n.m.profile.PIO.Status)
	n.proc.Sync()
	switch now := n.proc.Now(); {
	case acct.open > 0:
		acct.waiter = n
	case acct.answered > now && acct.waiter == nil:
		acct.waiter = n
		acct.call()
	case acct.answered <= now:
		return acct.take(), true
	}
	return Delivered, false
}

// call has the waiter called when the last answer is there.
func (a *Account) call() { a.waiter.m.kernel.At(a.answered, a, 0, 0) }

// Fire implements vtime.Target: the last answer is there.
func (a *Account) Fire(_, _ uint64) {
	n := a.waiter
	a.waiter = nil
	if n != nil {
		n.proc.Arrive()
	}
}

// Label implements vtime.Labelled.
func (a *Account) Label(_, _ uint64) string { return fmt.Sprintf("stores to %d answered", a.peer.id) }
