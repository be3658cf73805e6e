package core

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Config says how a job runs. The zero value is a usable default for everything but
// Conduit. It must be equal on all ranks, except for Log, Foreign, Ppoll,
// Failing and AtExit.
type Config struct {
	Conduit     string            // the registered name of the conduit
	Profile     string            // a profile of the conduit; "" is its default
	Settings    map[string]string // further settings of the conduit
	Segment     string            // default segment size: "64MB", "2GB", "50%"; "" is 64 MB
	SegmentWins bool              // a Segment that is not "" also wins over AttachSpec.Segment: it is the launcher's word
	NoReach     bool              // have no direct reach of peers' segments, for tests and comparisons
	NoNative    bool              // do without the one-sided and collective operations of the conduit's network, for tests and comparisons
	Near        Near              // live, over a network: whether ranks of one host talk through memory
	Collectives string            // algorithms of collectives to be used, for package extended; "": the tuned ones
	Threads     Threads           // Many (the default) or Single
	Debug       bool              // check what handlers and callers may do; misuse ends the job
	Stall       time.Duration     // live: report, once, a wait that takes longer, 0: 10 s, NoStall: never; model: end the job when a rank blocks for longer other than through it, 0: 2 s
	Sleep       time.Duration     // how long a live wait stays on the CPU before it sleeps in the kernel; 0: 1 ms
	Grace       time.Duration     // how long a rank may live on after the job has failed; 0: 1 s
	Seed        uint64            // model only: seeds every random source
	Losses      []Loss            // model only: ranks that are lost, and when
	Trace       io.Writer         `json:"-"` // model only: receives a line for everything that happens, see docs/model.md; nil: none
	Report      func(ModelReport) `json:"-"` // model only: called once at the end of the job; nil: not
	Stats       bool              // count what the rank does with the network; see package core/record
	Events      int               // record that many events of the rank, the latest, at most MaxEvents; 0: none
	EventSample int               // of messages and waits only every so manieth is an event; 0: 1, all
	Verbose     bool              // the Logger also tells what is of interest to those who look for a reason, such as addresses
	Log         *slog.Logger      // what is reported to people; nil: see Logger

	// Records, if not nil, is called at the end of a job of which something is recorded, whether it has ended well or not,
	// with the records of its ranks; nil stands for one that has handed over nothing. Where ranks share a process it is called once.
	// Where ranks are processes of a launcher that takes records (Recorder), it is not called. Otherwise rank 0 is the one
	// that calls it; if the job fails each rank calls it with its own record alone.
	Records func(records [][]byte) `json:"-"`

	// Foreign has the endpoint's state be such that code in another language can send and take messages itself, where
	// that is possible; see Endpoint.Foreign.
	Foreign bool `json:"-"`
	// Ppoll, if not nil, is how a live rank sleeps in the kernel, in place of unix.Ppoll: handlers of signals
	// of a program in another language must find it in code of that language.
	Ppoll func(fds []unix.PollFd, timeout *unix.Timespec) `json:"-"`
	// Failing, if not nil, is called when a rank is about to end the job by an error, a panic or misuse, before anybody
	// learns of it, on the goroutine that has found out, which has its stack still: so that a debugger may look. In virtual
	// time panics do not call it, and it must not block but in system calls.
	Failing func(rank Rank, why string) `json:"-"`
	// AtExit, if not nil, is called before the library leaves the process of a rank, which has half of Grace for it.
	AtExit func() `json:"-"`
}

// Job is a rank's membership in a running job, before and after it attaches.
type Job struct {
	boot    Bootstrap
	cfg     *Config // not to be changed: ranks of a process share one
	profile string  // of the conduit; before Attach as Config names it
	rank    Rank
	size    int
	start   time.Time
	ep      atomic.Pointer[Endpoint]
	ended   atomic.Pointer[error] // why the job is over, once it is
	exit    func(status int)      // leaves the rank; does not return
	freed   bool                  // release was called
	failed  *Endpoint             // its conduit's Attach has returned an error
	proc    Process               // nil live
	stepped Stepped               // nil unless the rank is a process that a model steps
	local   bool                  // other ranks live in this process
	placed  *placement            // where the ranks are; nil: the bootstrap says so

	doing     atomic.Pointer[doing] // what it does for which it does not poll
	returned  atomic.Bool           // its body has returned
	told      atomic.Bool           // a wait that takes long was told
	polled    atomic.Int64          // when it was seen to have polled, in nanoseconds since start
	asking    sync.Mutex            // while the rank is asked where it is
	releasing sync.Mutex            // while the endpoint is released, or woken by who asks
	recorded  sync.Once             // what was recorded is handed over
}

// newJob joins the job that boot stands for; proc is nil live.
func newJob(boot Bootstrap, cfg *Config, proc Process) *Job {
	if proc == nil {
		cfg = cfg.joined(boot)
	}
	j := &Job{boot: boot, cfg: cfg, profile: cfg.Profile, rank: boot.Rank(), size: boot.Size(), start: time.Now(), proc: proc}
	j.placed = j.findPlacement()
	return j
}

// Rank returns the caller's rank. A handler may call it.
func (j *Job) Rank() Rank { return j.rank }

// Size returns the number of ranks, fixed for the life of the job. A handler may call it.
func (j *Job) Size() int { return j.size }

// Local returns the ranks on the caller's host, as Host has it, ascending, the caller included. The slice is
// not to be changed.
func (j *Job) Local() []Rank {
	if p := j.placed; p != nil {
		return p.local[p.host[j.rank]]
	}
	return j.boot.Local()
}

// Host returns the number of a rank's host, which may be a modelled or a pretended one (Driver.PerHost), below Hosts: ranks with the same number are on one host
// (GASNet's gasnet_nodeinfo_t.host), and hosts are numbered in the order of their lowest ranks. It
// returns -1 for a rank that the job does not have. It may be called before Attach, and by a handler.
func (j *Job) Host(rank Rank) int {
	if uint(rank) >= uint(j.size) {
		return -1
	}
	if p := j.placed; p != nil {
		return p.host[rank]
	}
	return j.boot.Host(rank)
}

// Hosts returns the number of hosts that the job runs on (gex_System_QueryMyPosition, host_set_size).
// It looks at every rank. It may be called before Attach, and by a handler.
func (j *Job) Hosts() int {
	n := 0
	for r := range Rank(j.size) {
		n = max(n, j.Host(r)+1)
	}
	return n
}

// Config returns the configuration the job runs with.
func (j *Job) Config() Config {
	cfg := *j.cfg
	cfg.Profile = j.profile
	return cfg
}

// Modelled reports whether the job runs in virtual time.
func (j *Job) Modelled() bool { return j.proc != nil }

// Endpoint returns the endpoint made by Attach, or nil before.
func (j *Job) Endpoint() *Endpoint { return j.ep.Load() }

// Now reads the job's clock: virtual time under a model, else the monotonic time since
// this rank joined. A handler may call it.
func (j *Job) Now() Time {
	if j.proc != nil {
		return j.proc.Now()
	}
	return vtime.FromDuration(time.Since(j.start))
}

// LastSetUp returns when the model last set something up for any rank of the job, such as a
// connection at its first use: in virtual time, and 0 if it never did. What is timed from then on has
// found everything set up. Live it is 0. A handler may call it.
func (j *Job) LastSetUp() Time {
	if j.proc == nil {
		return 0
	}
	return j.proc.LastSetUp()
}

// Compute lets d pass for this rank in virtual time, for work that the program does not do,
// or does at another speed, under the model. Live it does nothing: there the work takes the
// time it takes. Compute does not poll. d must not be negative, and must end within virtual time,
// which lasts 106 days. A handler may call it.
func (j *Job) Compute(d time.Duration) {
	if j.proc != nil {
		if d < 0 {
			panic(&UsageError{j.rank, "Compute", fmt.Sprintf("%v; want a time that is not negative", d)})
		}
		j.charge("Compute", d)
	}
}

// charge lets d pass, which the call says that it takes.
func (j *Job) charge(call string, d time.Duration) {
	left := j.proc.Now().Plus(vtime.FromDuration(d)) - j.proc.Now()
	if left.Duration() < d {
		panic(&UsageError{j.rank, call, fmt.Sprintf("%v, of which only %v are left of the 106 days that virtual time lasts", d, left.Duration())})
	}
	j.proc.Charge(left)
}

// Measure runs f, which must not use the job. Under a model the host's time for it, times
// scale, passes for this rank; as no two runs take the same time on the host, the run is not
// deterministic from then on, and its report and trace say so. Live it only runs f. scale
// must not be negative. A handler may call it.
func (j *Job) Measure(scale float64, f func()) {
	p := j.proc
	if p == nil {
		f()
		return
	}
	if !(scale >= 0) {
		panic(&UsageError{j.rank, "Measure", fmt.Sprintf("scale %v; want a number that is not negative", scale)})
	}
	p.Disturb(fmt.Sprintf("rank %d has measured time on the host (job.Measure)", j.rank))
	before, start := p.Now(), time.Now()
	f()
	took := time.Since(start)
	if p.Now() != before {
		panic(&UsageError{j.rank, "Measure", "what is measured has used the job; measure computations only"})
	}
	j.charge("Measure", time.Duration(min(scale*float64(took), 1<<62)))
}

// Exit ends the whole job with the status. It is not collective, may be called at any time
// from any goroutine of the rank and from handlers, and does not return: a process exits
// without running deferred calls, a goroutine or coroutine rank is unwound. Of several
// calls the first wins, but non-zero beats zero. A process has a status of 0 to 255: of
// another the low eight bits are taken, or 1 if they are 0, and the job's message says so.
func (j *Job) Exit(status int) {
	x := (&ExitError{status, fmt.Sprintf("rank %d called Exit(%d)", j.rank, status)}).possible()
	_ = j.handOver(true) // there is nobody to tell
	j.boot.Abort(x.Status, x.Reason)
	j.exit(x.Status)
}

// failure returns why the job is over, or nil while it runs.
func (j *Job) failure() error {
	if p := j.ended.Load(); p != nil {
		return *p
	}
	return nil
}

// fail notes that the job is over and wakes every wait of this rank. The first cause stays.
func (j *Job) fail(err error) {
	if !j.ended.CompareAndSwap(nil, &err) {
		return
	}
	if ep := j.ep.Load(); ep != nil && ep.proc == nil {
		ep.end()
	}
}

// end has every poll and wait of the endpoint learn that the job has failed.
func (ep *Endpoint) end() {
	atomic.StoreUint32(&ep.state.Failed, 1)
	shm.Ring(ep.bell)
	ep.progress.wakeAll()
}

// abort ends the job because of err.
func (j *Job) abort(err error) {
	if j.failure() == nil { // else it is a consequence
		j.failing(err.Error())
	}
	j.boot.Abort(StatusOf(err), err.Error())
	j.fail(err)
}

// failing tells Config.Failing that the rank is about to end the job.
func (j *Job) failing(why string) {
	if f := j.cfg.Failing; f != nil {
		f(j.rank, why)
	}
}

// watch fails the job when the bootstrap says that it is over. A process that does not
// leave by itself within the grace period is ended, also when it computes. Until then watch looks
// whether the rank polls.
func (j *Job) watch(process bool) {
	if s, ok := j.boot.(Surveyor); ok {
		s.Locate(j.where)
	}
	tick := time.NewTicker(j.cfg.look())
	defer tick.Stop()
	polls := uint32(0)
	var err error
	for over := false; !over; {
		select {
		case <-tick.C:
			polls = j.lookAfter(polls)
		case err, over = <-j.boot.Done():
			if !over {
				return
			}
		}
	}
	j.fail(err)
	_ = j.handOver(true) // what fails then has failed already
	if process {
		grace := j.cfg.Grace
		if j.cfg.AtExit != nil {
			grace /= 2 // the launcher kills at the end of it what still does that
		}
		time.AfterFunc(grace, func() { j.exit(max(1, StatusOf(err))) })
	}
}

// finish is the good end of a rank: a barrier that keeps serving peers, then the release
// of everything.
func (j *Job) finish() error {
	j.returned.Store(true)
	if err := j.finishAll(); err != nil {
		return err
	}
	if ep := j.ep.Load(); ep != nil && j.cfg.AtExit != nil && ep.powers.Lasting && ep.proc == nil {
		return j.boot.Close() // the process is about to end, and other threads may be in calls until then
	}
	return errors.Join(j.release(), j.boot.Close())
}

// finishAll returns when the bodies of all ranks have returned.
func (j *Job) finishAll() error {
	if ep := j.ep.Load(); ep != nil {
		c := &ep.Context
		if j.cfg.AtExit != nil && !ep.single && ep.proc == nil {
			c = ep.NewContext() // a thread of another language may be in a call by that one, and go on
		}
		if err := c.finalBarrier(); err != nil {
			return err
		}
		if err := j.handOver(false); err != nil {
			return err
		}
		return j.boot.Barrier()
	}
	// Who attaches meanwhile exchanges cards; to have none says that the rank has returned.
	cards, err := j.boot.Exchange(nil)
	if err != nil {
		return err
	}
	for r, b := range cards {
		if len(b) > 0 {
			return fmt.Errorf("core: %w", returnedUnattached(j.rank, Rank(r)))
		}
	}
	return nil
}

// returnedUnattached is the error of a job of which one rank has returned, and another attaches.
func returnedUnattached(returned, attaches Rank) error {
	return fmt.Errorf("rank %d has returned before it called Attach, which rank %d has called", returned, attaches)
}

// release closes the conduit and what core opened for it.
func (j *Job) release() error {
	ep := cmp.Or(j.ep.Load(), j.failed)
	if ep == nil || j.freed {
		return nil
	}
	j.releasing.Lock()
	j.freed = true
	j.releasing.Unlock()
	err := errors.Join(ep.conduit.Close(), ep.stagings.free())
	ep.segment = nil
	if ep.proc == nil {
		err = errors.Join(err, unix.Close(ep.bell))
	}
	return err
}

// Main runs body as the rank that boot stands for, as a process of its own, and returns
// what ended it: nil when body and the final barrier succeeded on every rank. An error of
// body ends the whole job with its StatusOf; a panic does with status 2. The caller then
// leaves the process with StatusOf the result.
func Main(boot Bootstrap, cfg Config, body func(*Job) error) error {
	j := Join(boot, cfg)
	returned := false
	defer func() {
		if !returned { // a panic or Goexit is passing: tell the peers, let it go on
			what := "left its main function by runtime.Goexit"
			if panicking() {
				what = "panicked"
			}
			j.failing(what)
			_ = j.handOver(true) // there is nobody to tell
			j.boot.Abort(2, fmt.Sprintf("rank %d %s", j.rank, what))
		}
	}()
	err := j.run(body)
	returned = true
	return err
}

// Join makes the calling process the rank that boot stands for. It is Main for callers
// that keep their main function; they end with Leave.
func Join(boot Bootstrap, cfg Config) *Job {
	cfg = cfg.withDefaults()
	j := newJob(boot, &cfg, nil)
	j.exit = cfg.exitOf(boot)
	go j.watch(true)
	return j
}

// exitOf returns how the process of a rank leaves, after what it does at the end.
func (c *Config) exitOf(boot Bootstrap) func(status int) {
	leave, atExit := ExitOf(boot), c.AtExit
	if atExit == nil {
		return leave
	}
	return func(status int) {
		atExit()
		leave(status)
	}
}

// Alone returns the bootstrap of a job of one rank, the calling process.
func Alone() Bootstrap { return newInProcess(1, nil).ranks[0] }

// Leave ends the rank's part of a job that it joined with Join, as the return of err from
// the body of Main does: for nil it enters the final barrier, serving peers. It returns
// what ended the job.
func (j *Job) Leave(err error) error {
	return j.run(func(*Job) error { return err })
}

// run executes body and ends the rank's part of the job.
func (j *Job) run(body func(*Job) error) error {
	err := body(j)
	if end := j.failure(); end != nil {
		_ = j.handOver(true) // the job has an error already
		j.abort(end)         // only this rank may have noticed: it waited while it panicked
		return end           // whatever body returned is a consequence
	}
	if err == nil {
		err = j.finish()
		if err == nil {
			return nil
		}
	}
	if end := j.failure(); end != nil {
		_ = j.handOver(true) // as above
		return end
	}
	var x *ExitError
	if !errors.As(err, &x) {
		err = &ExitError{1, j.blame(err)}
	} else if p := (&ExitError{x.Status, err.Error()}).possible(); p.Status != x.Status {
		err = p
	}
	_ = j.handOver(true) // as above
	j.abort(err)
	return err
}

// blame names the rank in its error, unless the error does so itself.
func (j *Job) blame(err error) string {
	rank, text := fmt.Sprintf("rank %d: ", j.rank), err.Error()
	if strings.Contains(text, rank) {
		return text
	}
	return rank + text
}

// exitGoroutine leaves a rank that is a goroutine.
func exitGoroutine(int) { runtime.Goexit() }

func (c Config) withDefaults() Config {
	if c.Sleep == 0 {
		c.Sleep = defaultIdle
	}
	if c.Stall == 0 {
		c.Stall = defaultStall
	}
	if c.Grace == 0 {
		c.Grace = time.Second
	}
	return c
}

// ppoll waits for one of the descriptors, or for a time; nil is no limit.
func (c *Config) ppoll(fds []unix.PollFd, timeout *unix.Timespec) {
	if c.Ppoll != nil {
		c.Ppoll(fds, timeout)
		return
	}
	_, _ = unix.Ppoll(fds, timeout, nil)
}

func itoa(n int) string { return strconv.Itoa(n) }
