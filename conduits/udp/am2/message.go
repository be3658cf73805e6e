package am2

import "fmt"

// MaxArgs is the number of 32-bit arguments a message carries at most.
const MaxArgs = 16

// Kind says what a message carries beside its arguments. Which way a payload travels depends
// on its size alone: one that does not fit a packet goes as bulk, in fragments.
type Kind uint8

// The kinds of messages.
const (
	Short  Kind = iota // arguments only
	Medium             // and a payload for which the receiver has a buffer
	Long               // and a payload for a place in the receiver's segment
	kinds
)

// Result is the outcome of Reserve.
type Result uint8

// The outcomes of Reserve.
const (
	Reserved Result = iota // the windows are set; Commit must follow
	NoRoom                 // no credit or no memory now; receive, deliver, serve and try again
	Unmapped               // nothing is mapped at the index
	TooLong                // the payload is longer than Config allows
)

// String names the result.
func (r Result) String() string {
	switch r {
	case Reserved:
		return "Reserved"
	case NoRoom:
		return "NoRoom"
	case Unmapped:
		return "Unmapped"
	case TooLong:
		return "TooLong"
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Reason says why a message came back to its sender.
type Reason uint8

// The reasons. Of a message that returns as Unreachable or Refused nobody knows whether it was
// delivered; with every other reason it was not, and never will be.
const (
	TagMismatch Reason = 1 + iota // the endpoint has another tag, or one of the two never matches
	NoEndpoint                    // no endpoint of that number and incarnation is there
	Unreachable                   // nothing was heard from the peer for Config.Unreachable, or over Config.Retries
	Refused                       // the peer's host said that nobody receives there (Bundle.Refused), or the peer has ended (Bundle.Ended)
	reasons
)

// String says what went wrong, to follow a colon.
func (r Reason) String() string {
	switch r {
	case TagMismatch:
		return "tag mismatch"
	case NoEndpoint:
		return "no such endpoint"
	case Unreachable:
		return "unreachable"
	case Refused:
		return "refused by its host"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Op describes a message on its way out. The caller owns and reuses it; between Reserve and
// Commit only Slot needs to be kept, all else may be filled in anew. Several may be reserved
// at once and committed in any order.
type Op struct {
	Index  uint32 // entry of the translation table; not looked at for replies
	Header uint32 // the word of the layer above; travels as it is
	Kind   Kind
	NArgs  int    // number of arguments, at most MaxArgs; the same at Commit as at Reserve
	Len    int    // payload bytes; 0 for a Short. At Commit it may be less than it was at Reserve
	Offset uint64 // Long: the place of the payload, as the receiver's Handler.Place understands it

	// Src, if not nil, is the payload itself, lent until Sent.Complete is called. It is taken
	// if the message travels as bulk: Reserve leaves Data nil then. Otherwise Data is set as
	// always, and neither Src nor Sent is looked at. Both are given again at Commit.
	Src  []byte
	Sent Completer // may be nil

	Args *[MaxArgs]uint32 // set by Reserve: where the arguments go; all 16 words are writable
	Data []byte           // set by Reserve: where the payload goes, Len bytes
	Slot uint64           // set by Reserve: the reservation
}

// Completer is told that a lent payload is its owner's again. Complete may be called from
// any method of the bundle, so it must neither call back nor wait.
type Completer interface{ Complete() }

// NoIndex is the index of an endpoint that is not in the translation table.
const NoIndex = ^uint32(0)

// Message is one that arrived or came back. It belongs to the bundle and is valid until the
// method of Handler returns that it was given to.
type Message struct {
	Endpoint *Endpoint // of this bundle: the receiver, or of a returned message the sender
	Index    uint32    // where the table of Endpoint has the other end, or NoIndex
	Reply    bool
	Header   uint32
	Kind     Kind
	NArgs    int              // at most MaxArgs
	Args     *[MaxArgs]uint32 // words from NArgs on have no meaning
	Len      int              // payload bytes
	Offset   uint64           // Long
	Data     []byte           // the payload: in Place its part that is there; of a Long that arrived, what Place returned

	ch *channel
}

// Remote returns the name of the other end: who sent the message, or to whom it was to go.
func (m *Message) Remote() Name { return m.ch.remote() }

// Handler is the layer above. Its methods may be called with the lock held that makes calls
// of the bundle one at a time; they may release it meanwhile, see Arrived.
type Handler interface {
	// Arrived delivers a message and reports whether it was replied to. Only Deliver calls
	// it. It may call every method of the bundle and its endpoints but Deliver, and other
	// goroutines may call them while it runs, one at a time.
	Arrived(m *Message) (replied bool)

	// Place returns the memory for the m.Len payload bytes of a Long: called once, by
	// Receive or Deliver, before the payload is stored, hence by whoever calls these. It must
	// not call back. If it returns nil or less, the payload is dropped; Arrived is called all
	// the same, with Data nil, so that the fault is noticed where it can be reported.
	Place(m *Message) []byte

	// Returned gives back a message that could not be delivered; only Deliver calls it. A
	// request that comes back has given back its credit. It may do what Arrived may.
	Returned(m *Message, reason Reason)

	// Lost tells that the process at the other end of m, which has nothing else but the
	// endpoints' names, is given up, after its messages have come back: requests that it had
	// taken will not be replied to. Only Deliver calls it, once for each channel on which
	// something was awaited. Messages may be sent to it all the same, and are tried anew.
	Lost(m *Message, reason Reason)
}
