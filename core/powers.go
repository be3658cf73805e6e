package core

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Plan is what a conduit says of itself before anything is made. The zero value says nothing in
// particular.
type Plan struct {
	// Footprint is how many bytes of the host's memory Attach makes for this rank, besides the
	// segment, so that a job that does not fit its host is refused.
	Footprint int
	// MaxSegment is the size in bytes of the largest segment of a rank, at least a page, and the same
	// on every rank; 0: as large as the host's memory allows. The default size of a segment is then
	// cut to it, and to ask for more is an error.
	MaxSegment int
	// Reach says that ranks may reach each other's segments directly, see Reacher: the same on
	// every rank.
	Reach bool
}

// Powers are what an attached conduit can do: how large its messages may be, and what it offers
// besides messages, nil where it offers nothing. They are a value, so that a conduit that stands
// on another one passes on what it pleases.
type Powers struct {
	// Limits are the payload limits towards every peer.
	Limits Limits
	// LimitsTo, if not nil, returns the limits towards one rank of the group, which may be larger
	// than Limits but not smaller. It returns the same at each call, which must be cheap; nobody
	// changes what it returns.
	LimitsTo func(Rank) *Limits

	Reacher      Reacher      // live only; Plan.Reach must have announced it
	Putter       Putter       // the one-sided operations
	Getter       Getter       //
	Atomics      Atomics      //
	Collectives  Collectives  // collective operations
	Spinner      Spinner      // live only
	Foreign      *Foreign     // live only, and only if Attachment.Foreign asks for it
	Lasting      bool         // live only: Close does nothing that the end of the process does not do, so that a process which ends then does without
	Idler        Idler        // modelled only
	LossDetector LossDetector // modelled only
}

// Reacher is direct reach of peers' segments.
type Reacher interface {
	// Reach returns rank's segment as memory of this process, valid until Close, or nil if
	// it is out of reach. Stores to it become visible before a message that is committed
	// later. Any goroutine may call it, beside other methods.
	Reach(rank Rank) ([]byte, error)
}

// Spinner is for a conduit whose polls take long before they look, as a call of foreign code does.
type Spinner interface {
	// Spin is Poll for a rank that waits for a message: while it finds nothing it may look again, for a few
	// microseconds at most. A wait calls it in place of spinPolls polls at full speed.
	Spin(budget int) int
}

// Idler tells under a model that a poll would be in vain. A rank that waits then parks instead of
// polling, and its coroutine is switched once for a message instead of twice.
type Idler interface {
	// Idle reports whether a poll at the rank's present time would find nothing, unless
	// something that calls Proc.Arrive happens before, and what the poll would charge, which
	// is more than zero. Polls of such a conduit look right after Proc.Sync and charge for the
	// look afterwards. It must not wait.
	Idle() (cost vtime.Time, idle bool)
}

// LossDetector is for modelled hardware that notices the loss of a node by itself.
type LossDetector interface {
	// Lost says that this rank's node is lost from now on; Config.Losses wants it so. Its
	// coroutine does not run again. An event calls it, on the lost rank's end, so it must
	// not wait. The model stops what the node does, and its peers notice in the way of their
	// hardware: one of them ends the job by Port.Fail, with an ExitError of status StatusLost.
	// If none has done so LossBound later, core ends the job.
	Lost()
}

// LossBound is the virtual time within which a LossDetector must have ended the job.
const LossBound = vtime.Second
