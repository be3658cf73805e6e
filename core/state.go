package core

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// State is what an endpoint's polls look at and change each time, in words, so that a poll of code in another
// language can do the same; see Foreign. Who polls writes what has no other writer here.
type State struct {
	Polls  uint32 // counted, for who asks whether the rank polls
	Found  uint32 // polls in which something happened
	Kicked uint32 // 1: polls have the layer above carry on, and so are Go's
	Inside uint32 // Many: 1: the default context is in an unlocked section, see bias; it alone writes this
	_      [48]byte

	// What every poll looks at, and hardly any changes.
	Failed uint32 // 1: the job has failed; written atomically, by any goroutine
	Over   uint32 // Many: 1: the default context takes locks as others do; written atomically
	Left   uint32 // Many: 1: it is outside of the section in which Over was set; written atomically
	Hot    uint32 // polls at full speed of a wait before it does anything else; constant once attached
	Words  *Words // the locks, for code in another language; nil if there is none
}

// Words are what contexts that share an endpoint look at and change: the locks, and what threads tell each other. They
// lie outside the Go heap, each on cache lines of its own, so that code in another language takes the same locks. A
// lock is 1 while somebody has it. Whoever finds it taken tries again for a while, and then leaves
// the call to Go, where one waits.
type Words struct {
	polling  atomic.Uint32 // the lock of who polls, and runs handlers
	_        [124]byte
	sending  atomic.Uint32 // the lock of who reserves room for a request; taken after polling
	_        [124]byte
	bursts   atomic.Uint32 // what may have made conditions true: counted with polling held, or after a sleep in the kernel
	_        [124]byte
	awake    atomic.Int32 // who wants to poll for a wait or does: waits of Go's that are not parked, and Exclusively
	_        [124]byte
	sleeping atomic.Bool // a context sleeps in the kernel, without the lock and not awake; set with polling held
	_        [124]byte
}

// enter takes a lock if it is free.
func enter(lock *atomic.Uint32) bool { return lock.Load() == 0 && lock.CompareAndSwap(0, 1) }

// sending is the lock of who reserves room for requests. Goroutines wait for each other by the mutex, and who has that
// for code in another language, which holds the word for a moment only.
type sending struct {
	mu   sync.Mutex
	word *atomic.Uint32 // nil: there is none
}

func (l *sending) Lock() {
	l.mu.Lock()
	if l.word != nil {
		for !enter(l.word) {
			cpu.Yield() // the holder may be a thread that waits for this CPU
		}
	}
}

func (l *sending) Unlock() {
	if l.word != nil {
		l.word.Store(0)
	}
	l.mu.Unlock()
}

// Foreign is how code in another language that belongs to the rank, such as C in its process, sends and takes
// messages itself, as a context of the endpoint would in Go. It does so only where that context could: on the
// goroutine's thread, outside of handlers and of other calls. In Many mode it is the default context between
// Inside = 1, after which it looks at Over, and Inside = 0. Once Over is set that context takes the locks of Words, and so do
// others once Left is set; they poll with one of them, and note there what they have found. It runs no handler of
// Go's: such a message stays where it is, and so does whatever else it does not understand, for Context.Poll. As long as
// State.Kicked or State.Failed is set, it leaves polling to Context.Poll.
type Foreign struct {
	// Rings are the conduit's state, outside of the Go heap and valid until the process ends. The conduit's package
	// says what they are.
	Rings unsafe.Pointer
	// Wake wakes the peer at a position of the group, which has announced to sleep, after something was sent to it.
	Wake func(position int)
	// Rouse wakes the context that sleeps for all, after something was found while Words say that one does.
	Rouse func()
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
	f := *ep.powers.Foreign
	f.Rouse = ep.wake
	return ep.state, &f
}

// makeState gives the endpoint its words, outside of the Go heap if they are to be shared.
func (ep *Endpoint) makeState() error {
	if !ep.job.foreign() {
		ep.state = new(State)
		return nil
	}
	const words = int(unsafe.Sizeof(State{})+127) &^ 127
	region, err := shm.NewRegion(words+int(unsafe.Sizeof(Words{})), shm.Local)
	if err != nil {
		return fmt.Errorf("core: rank %d: %w", ep.job.rank, err)
	}
	base := unsafe.Pointer(unsafe.SliceData(region.Bytes()))
	ep.state = (*State)(base)
	ep.state.Words = (*Words)(unsafe.Add(base, words))
	ep.progress.Words, ep.sending.word = ep.state.Words, &ep.state.Words.sending
	runtime.AddCleanup(ep, func(r *shm.Region) { _ = r.Close() }, region)
	return nil
}
