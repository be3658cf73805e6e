package mpi

import (
	"log/slog"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
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
	// Reaches says that ranks may reach each other's segments as memory: see Segment.Reach.
	Reaches bool
	// Settings, if not nil, returns the network's own settings: see core.Driver.
	Settings func() settings.Table
	// Open makes a rank's end. Collective over the job: it may use Spec.Boot's collectives,
	// the same number of times on every rank. What a failing Open made it releases itself.
	Open func(*Spec) (Transport, error)
}

// Spec is what a Network needs to open a rank's end.
type Spec struct {
	Boot     core.Bootstrap
	Group    []core.Rank       // the ranks that will exchange messages, ascending
	Proc     *vtime.Proc       // the rank's process under the model; nil live
	Log      *slog.Logger      // for what people should know
	Settings map[string]string // of the network, which its table has accepted
}

// Transport is one rank's end of two-sided message passing with the rules of MPI: a message
// goes to the first posted receive of its tag and source, else it waits; messages of a pair
// that match the same receives are received in the order of their posts. Ranks are those of
// the job, and a rank may send to itself.
//
// Everything goes through one call, Progress, so that one crossing into a foreign library
// hands over all that is to begin and brings all that has ended. Further powers, such as
// collective operations, are interfaces of their own that a Transport may implement as well.
type Transport interface {
	// Limits returns what does not change while the transport is open.
	Limits() TransportLimits

	// Progress starts the posts, sends in their order and receives in theirs, and has whatever
	// is under way progress. It writes the completions since the last call to done, as many as
	// fit, in any order, and returns how many those are. It never blocks and takes
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

// Spinner is an optional power of a Transport: to look for longer in one call.
type Spinner interface {
	// Spin is Progress for a rank that waits: while nothing has ended it may look again, for a few
	// microseconds at most.
	Spin(posts []Post, done []Completion) (n int, err error)
}

// Segmenter is an optional power of a Transport: to make the segments of the ranks itself, so that they
// get at each other's without messages.
type Segmenter interface {
	// Segment makes the rank's segment. Collective over the group, with sizes that may differ; called
	// once. Messages may be under way, but no Progress is beside it.
	Segment(size int) (Segment, error)
}

// Segment is a rank's segment as a Segmenter has made it, valid until Transport.Close, and what the
// rank can do with those of others. The zero value leaves the segment to the engine.
type Segment struct {
	// Memory is the segment, from the beginning of a page, outside the Go heap.
	Memory []byte

	// Reach, if not nil, returns the segment of a rank of the group as memory of this process: nil if
	// it is none, which then is so for both ranks; an empty segment is not nil. core.Reacher has the
	// rules. The network must say Network.Reaches.
	Reach func(core.Rank) []byte
}

// TransportLimits are the sizes of a Transport.
type TransportLimits struct {
	// Eager is how long a message may be, in bytes, that is buffered at its receiver until
	// a receive matches it; longer ones wait at their sender. At least 512.
	Eager int
	// Exact: a message finds a receive that names its source sooner than one of AnySource.
	Exact bool
	// Async: Progress may be called at any time: the program does not call the library itself, or may
	// do so at the same time.
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
// outside the Go heap or is pinned, and so stays where it is (except under the race detector
// between goroutines): foreign code may keep its address between calls, and read the Post itself where it lies.
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
