package mpi

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Network is a message-passing library that can carry the conduit, one of its profiles.
type Network struct {
	Name     string // of the profile, e.g. "openmpi"
	Summary  string // one line
	Live     bool   // runs in real time
	Modelled bool   // runs in virtual time

	// Check tells whether it can be used, with a reason for people; boot is nil when only a
	// list is wanted. Nil: always.
	Check func(boot core.Bootstrap) error
	// FileSetting, if not nil, says whether the value of a setting of the network's own is the
	// path of a file: see core.Driver.
	FileSetting func(key, value string) bool
	// Open makes a rank's end. Collective over the job: it may use Spec.Boot's collectives,
	// the same number of times on every rank. What a failing Open made it releases itself.
	Open func(*Spec) (Transport, error)
}

// Spec is what a Network needs to open a rank's end.
type Spec struct {
	Boot     core.Bootstrap
	Group    []core.Rank       // the ranks that will exchange messages, ascending
	Proc     *vtime.Proc       // the rank's process under the model; nil live
	Settings map[string]string // those that the engine does not know; Open refuses what it does not know either
}

// Transport is one rank's end of two-sided message passing with the rules of MPI: a message
// goes to the first posted receive of its tag and source, else it waits; messages of a pair
// that match the same receives are received in the order of their posts. Ranks are those of
// the job, and a rank may send to itself.
//
// Everything goes through one call, Progress, so that one crossing into a foreign library
// hands over all that is to begin and brings all that has ended. Further powers, such as
// remote memory access, are interfaces of their own that a Transport may implement as well.
type Transport interface {
	// Limits returns what does not change while the transport is open.
	Limits() TransportLimits

	// Progress starts the posts, sends in their order and receives in theirs, makes whatever
	// is under way progress, and writes what has ended since the last call to done, as much as
	// fits, in any order. It returns how many completions that are. It never blocks and takes
	// every post; posts and done are the caller's again when it returns. The calls are
	// serialised, but come from any thread.
	//
	// Under a model the caller has synchronised its process where it polls. Progress may
	// charge time, and let it pass: while modelled hardware answers, and until a receiver has
	// room. A call that has done some work without a completion to show for it calls
	// Proc.Arrive, so that the rank looks again before it parks.
	//
	// A message of up to Limits().Eager bytes that was posted reaches its receiver without
	// further calls by its sender. An error is final: the job ends, and no call but Close
	// follows.
	Progress(posts []Post, done []Completion) (n int, err error)

	// Close ends all that is under way and releases everything. No rank of the job sends
	// anything any more.
	Close() error
}

// Accessor is an optional power of a Transport: remote memory access. The transport then owns the
// segments.
type Accessor interface {
	// Segment makes the rank's segment, which the others of the group access; nil if it does not
	// provide access after all. Collective over the group, with sizes that may differ; called once,
	// before Progress.
	Segment(size int) ([]byte, error)
	// Access begins an operation. It is complete, at its target as well, when the next Progress
	// has returned; until then what it names belongs to the transport.
	Access(a *Access) error
}

// Access is an operation on a segment. Its memory is where it is until the operation is complete:
// outside the Go heap, or pinned.
type Access struct {
	What  AccessKind
	Rank  core.Rank // whose segment
	Off   uint64    // where in it; AccessAdd, AccessFetch: a multiple of the element's size
	Mem   []byte    // a put's source, or a get's destination; AccessAdd: what is added; an element then
	Fetch []byte    // AccessAdd, AccessFetch: where the element goes as it was before
}

// AccessKind is what an Access does.
type AccessKind uint8

// The kinds. Elements are integers of 4 or 8 bytes; AccessAdd and AccessFetch of one size are
// atomic with respect to each other.
const (
	AccessPut AccessKind = iota
	AccessGet
	AccessAdd
	AccessFetch
)

// TransportLimits are the sizes of a Transport.
type TransportLimits struct {
	// Eager is how long a message may be, in bytes, that is buffered at its receiver until
	// a receive matches it; longer ones wait at their sender. At least 512.
	Eager int
	// Exact: a message finds a receive that names its source sooner than one of AnySource.
	Exact bool
	// Async: Progress may be called at any time, also while the program calls the library itself.
	Async bool
	// Costs are what the engine's steps take under a model.
	Costs Costs
}

// Costs are the times of software steps. Live they are not used.
type Costs struct {
	Poll    vtime.Time // a look at the queues, more than zero
	Build   vtime.Time // header and bookkeeping of an active message that is sent
	Deliver vtime.Time // finding the handler of one that has come, credits
	CopyKB  vtime.Time // copying 1024 bytes
}

// AnySource, as Post.Peer, receives from every rank.
const AnySource core.Rank = -1

// MaxTag is the largest tag used: what MPI guarantees (MPI 3.1, section 8.1.2).
const MaxTag = 32767

// Post is a send or a receive that is to begin. From then until its completion Buf belongs
// to the transport: a send's is unchanged, a receive's is not looked at. The memory lies
// outside the Go heap and stays where it is (except under the race detector between
// goroutines), so foreign code may keep its address between calls.
type Post struct {
	Buf     []byte
	ID      uint64    // returned by the completion
	Peer    core.Rank // destination or source; AnySource
	Tag     int32     // 0 to MaxTag
	Receive bool
}

// Completion tells that a post has ended and its buffer is the engine's again.
type Completion struct {
	ID     uint64
	Len    int       // receive: bytes of the message; longer than the buffer is an error of Progress
	Source core.Rank // receive: who sent it
	Tag    int32     // receive: its tag
}
