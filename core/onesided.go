package core

// MaxInline is the size in bytes of puts whose source a conduit reads before it returns: that
// of a register. For these LC is nil.
const MaxInline = 8

// Transfer describes a put or a get. It is owned by a Context and reused: a conduit keeps
// what it needs of it, but not the pointer.
type Transfer struct {
	Rank Rank        // whose segment
	Off  uint64      // where in it
	Mem  []byte      // a put's source or a get's destination: 1 byte at least, MaxPut or MaxGet at most
	LC   *Completion // of a put, if not nil: to be told, at any time, when Mem is not needed any more
	Done *Completion // to be told of the completion
}

// Putter is an optional power of a conduit whose network moves data itself: to write to a
// peer's segment. With Getter and Atomics it makes up the one-sided operations. A conduit states
// its powers once, after Attach (see Powers). The layer above does by messages what a conduit has
// no power for, or declines.
//
// These rules hold for all one-sided operations.
//
// Target: an operation completes without any call of the target's, which runs no handler for
// it. Rank is in the group, and may be the caller's own. Core has checked that the range lies
// in the segment.
//
// Room: a conduit may bound what is under way and answer NoRoom. Core polls and tries again,
// so room must come back by polling of the initiator alone.
//
// Completion: the conduit tells Done, once for every operation that it answered Initiated,
// and only in Poll, which counts it as it does messages. What the operation stored is then
// visible to every load, message and one-sided operation that happens after the completion is
// known, at whatever rank; what it fetched is in place. A Sleeper wakes for completions, as
// for messages.
//
// Order: there is none, neither among one-sided operations nor between them and messages,
// except by completion. What the initiator stored to its own memory, and what it received,
// before it initiated an operation is seen by the operation.
//
// Memory: Mem and Fetched may lie anywhere, on the Go heap too. A conduit that hands them to
// hardware or to C keeps them where they are, or copies, or declines.
//
// Concurrency: core never runs two of these calls at once, nor one beside a Reserve of a
// request. In Many mode Poll may run beside them, and tell Done before the call has returned.
//
// Failure: an operation that cannot be carried out ends the job, by Port.Fail.
//
// End: Close may find operations under way, which the program did not synchronise. They may
// be carried out or not, but touch no memory after Close has returned, here or at the target.
type Putter interface {
	// Put initiates the put of t.Mem, which the conduit may read until it tells t.LC, or
	// until completion if that is nil; but see MaxInline. It answers Initiated, Completed,
	// NoRoom or Declined, and neither polls nor blocks.
	Put(t *Transfer) Result
	// MaxPut returns the bytes of the largest put, at least MaxInline, or 0 if all are declined;
	// called once, after Attach.
	MaxPut() int
}

// Getter is an optional power of a conduit: to read from a peer's segment. Putter has the rules.
type Getter interface {
	// Get initiates a get into t.Mem, which is the conduit's until completion. It answers
	// as Put does.
	Get(t *Transfer) Result
	// MaxGet returns the bytes of the largest get, at least MaxInline, or 0 if all are declined;
	// called once, after Attach.
	MaxGet() int
}
