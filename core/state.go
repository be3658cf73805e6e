package core

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// State is what an endpoint's polls look at and change each time, in words, so that a poll of code in another
// language can do the same; see Foreign. Who polls writes what has no other writer here.
type State struct {
	Polls  uint32 // counted, for who asks whether the rank polls
	Found  uint32 // polls in which something happened
	Kicked uint32 // 1: polls have the layer above carry on, and so are Go's
	Failed uint32 // 1: the job has failed; written atomically, by any goroutine
	Inside uint32 // Many: 1: the default context is in an unlocked section, see bias; it alone writes this
	Over   uint32 // Many: 1: it takes locks as others do; written atomically
	Hot    uint32 // polls at full speed of a wait before it does anything else; constant once attached
}

// Foreign is how code in another language that belongs to the rank, such as C in its process, sends and takes
// messages itself, as the default context of the endpoint would in Go. It does so only where that context could: on the
// goroutine's thread, outside of handlers and of other calls, and in Many mode between
// Inside = 1, after which it looks at Over, and Inside = 0. It runs no handler of Go's: such a message stays where it is, and so does
// whatever else it does not understand, for Context.Poll. As long as State.Kicked or State.Failed is set, it
// leaves polling to Context.Poll.
type Foreign struct {
	// Rings are the conduit's state, outside of the Go heap and valid until the process ends. The conduit's package
	// says what they are.
	Rings unsafe.Pointer
	// Wake wakes the peer at a position of the group, which has announced to sleep, after something was sent to it.
	Wake func(position int)
	// Counts returns the messages that were sent and taken in this way. The figures are exact when nobody is at it.
	Counts func(Rank) Counts
}

// foreign reports whether the job's endpoint is to be shared with code in another language. What checks
// or watches every step in Go excludes that.
func (j *Job) foreign() bool {
	return j.cfg.Foreign && !j.cfg.Debug && !j.cfg.watched() && j.proc == nil && !shm.RaceEnabled
}

// Foreign returns what code in another language needs to send and take messages itself, or nil if it cannot: the job
// was not configured so (Config.Foreign), is watched, in debug mode or in virtual time, or has a conduit that
// cannot share its state.
func (ep *Endpoint) Foreign() (*State, *Foreign) {
	if ep.powers.Foreign == nil {
		return nil, nil
	}
	return ep.state, ep.powers.Foreign
}

// makeState gives the endpoint its words, outside of the Go heap if they are to be shared.
func (ep *Endpoint) makeState() error {
	if !ep.job.foreign() {
		ep.state = new(State)
		return nil
	}
	region, err := shm.NewRegion(int(unsafe.Sizeof(State{})), shm.Local)
	if err != nil {
		return fmt.Errorf("core: rank %d: %w", ep.job.rank, err)
	}
	ep.state = (*State)(unsafe.Pointer(unsafe.SliceData(region.Bytes())))
	runtime.AddCleanup(ep, func(r *shm.Region) { _ = r.Close() }, region)
	return nil
}
