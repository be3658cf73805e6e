package core

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Op describes one active message on its way out. It is owned by a Context (requests)
// or a Token (replies) and reused for every message, so that injection allocates
// nothing. Core fills the first group of fields before Reserve; Reserve fills the
// second; core writes arguments and payload into the windows and calls Commit.
type Op struct {
	Dst Rank   // destination, in 0..Size-1 and in the attached group
	Hdr Header // handler, request or reply, category, argument count
	Len int    // payload bytes; at Commit it may be less than it was at Reserve, never more
	Off uint64 // Long: offset in the destination's segment, range already checked

	// Src, when not nil, is the payload itself. It is stable until the conduit calls
	// LC.Complete or, if LC is nil, until the matching reply arrives. A conduit that leaves Data
	// nil takes the payload from Src. A conduit that sets Data gets a copy there, and
	// ignores Src and LC.
	Src []byte
	LC  *Completion

	Args *[MaxArgs]uint32 // where the arguments go: all 16 words are writable
	Data []byte           // where the payload goes: Len bytes; unused when Len is 0
	Slot uint64           // the conduit's own word; for a reply it comes from Dispatch

	context *Context // of a request, whose it is; nil: of a reply
}

// Result is the outcome of Reserve, and of a conduit's one-sided operations (see Putter).
// Having no room is an everyday result, not an error.
type Result uint8

const (
	// Reserved: the windows are set and Commit must follow. Only Reserve answers so.
	Reserved Result = iota
	// NoRoom: nothing was taken; poll and try again.
	NoRoom
	// Initiated: the operation is under way, and Done will be told. This and the others
	// below are results of one-sided operations only.
	Initiated
	// Completed: the operation is complete; neither LC nor Done is told.
	Completed
	// Declined: nothing was taken, and never will be for these arguments: messages do it.
	Declined
)

// String names the result.
func (r Result) String() string {
	switch r {
	case Reserved:
		return "Reserved"
	case NoRoom:
		return "NoRoom"
	case Initiated:
		return "Initiated"
	case Completed:
		return "Completed"
	case Declined:
		return "Declined"
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Limits are the sizes a conduit supports, constant once attached.
type Limits struct {
	MaxMediumRequest int // payload bytes of a Medium request, at least 512
	MaxMediumReply   int // payload bytes of a Medium reply, at least 512
	MaxLongRequest   int // payload bytes of a Long request, at least 512
	MaxLongReply     int // payload bytes of a Long reply, at least 512
	// Ordered reports that messages of one direction (request or reply) between a pair
	// of ranks arrive in the order in which one context sent them. Clients may not rely
	// on it; the conformance suite checks a claim.
	Ordered bool
}

// Conduit is the contract a network implements: one value per rank and job.
//
// Concurrency: core never runs two Reserves of requests, nor two Polls, at once.
// Reserve for a reply is only called below Dispatch, hence below Poll. In Many mode
// Poll may run beside a request's Reserve and Commit, and several reserved requests may
// await their Commits, which come from any goroutine in any order.
type Conduit interface {
	// Plan says what Attach will need, and reports settings that are wrong. It makes nothing, and
	// uses none of a.Boot's collectives. It is called once, before Attach, with an attachment that
	// lacks all that has to do with segments, and the port.
	Plan(a *Attachment) (Plan, error)

	// Attach connects the ranks of the group, for messages that need no segment. Collective; may use
	// a.Boot's collectives, the same number of times on every rank. After an error the job fails, and
	// Close follows when all ranks have ended: to close a network may take all of them. A rank that is a
	// process just ends.
	Attach(a *Attachment) error

	// Powers returns what the conduit can do; called once, right after Attach.
	Powers() Powers

	// AttachSegment makes this rank's segment and returns it: a.Segment bytes outside the Go heap
	// (or, under the race detector between goroutines, on it), page aligned; nil if that is none.
	// If a.Memory is not nil, that is the segment, which belongs to somebody else: the conduit
	// takes it on and returns it, or, if only memory of its own will do, returns an error that
	// wraps ErrOwnSegment. It is called once, after Attach: at once, or later, when messages are under
	// way, and then with no call beside it but Commits of messages without a Long's payload, LimitsTo, and
	// the FD and Disarm of a context that sleeps. No peer sends
	// what needs a segment before AttachSegment has returned on all ranks. Collective, as
	// Attach is. After an error the job fails, and Close follows when it has.
	AttachSegment(a *Attachment) (segment []byte, err error)

	// Reserve finds room for op's message and sets op.Args and, if op.Len > 0, op.Data, or
	// answers NoRoom. For a reply (op.Hdr.Reply) it never answers NoRoom and never waits: a
	// conduit does not dispatch a request unless its reply has room. Until Commit the
	// message occupies its place; Reserve must not poll.
	Reserve(op *Op) Result

	// Commit sends what was reserved. After it returns, the windows belong to the
	// conduit. It must not poll or block.
	Commit(op *Op)

	// Poll delivers arrived messages by Port.Dispatch, about budget at most, and returns
	// how many it delivered. What it finds besides that somebody may wait for, such as room,
	// counts likewise: after 0, and an Arm that says false, a rank may sleep without another look. It
	// never blocks.
	Poll(budget int) int

	// Sleeper returns the conduit's part in sleeping; nil under a model.
	Sleeper() Sleeper

	// Close releases everything; after a failed Attach, what that has made. No call follows it. All
	// ranks have passed the final barrier, or the job has failed.
	Close() error
}

// Sleeper lets the one wait sleep until a conduit has something to do. The calls come
// from one goroutine at a time, in the order Arm, (sleep on FD), Disarm.
type Sleeper interface {
	// Arm announces that this rank is going to sleep and then looks once more. It
	// reports true if anything is there that could make a wait's condition true: a
	// message or returned room. From Arm to Disarm, such an event makes FD readable.
	Arm() (ready bool)
	// FD returns the descriptor to sleep on, the same at each call, or -1 if the conduit cannot wake
	// a sleeper.
	FD() int
	// Disarm ends what Arm began and consumes the wake-up.
	Disarm()
}

// ErrOwnSegment is returned by the AttachSegment of a conduit that cannot take on a segment that exists
// already.
var ErrOwnSegment = errors.New("the conduit makes the segment itself, and cannot take on one that exists already")

// Attachment is what core hands to Conduit.Attach, with the port, and to AttachSegment, with what concerns
// segments.
type Attachment struct {
	Boot     Bootstrap         // the job's collectives
	Group    []Rank            // the ranks to connect, ascending, the caller's included
	Segment  int               // bytes of this rank's segment, a multiple of the page size; 0: none
	Sizes    []int             // segment bytes of every rank, indexed by rank; 0 outside the group
	Memory   []byte            // the segment, if segments exist already, on all ranks, and not nil where it is empty; else nil
	Port     *Port             // where arrivals go
	Proc     *vtime.Proc       // the rank's process under the model; nil live
	Settings map[string]string // further conduit settings, e.g. "forced-scan": "off"
	Threads  Threads           // Many: see Conduit for what may run at once
	Crowded  bool              // Attach: ranks of this host outnumber the CPUs, so that a wait lets others run after each poll in vain
	Foreign  bool              // code in another language is to use the conduit too, see Powers.Foreign; a conduit need not provide for it
}
