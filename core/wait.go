package core

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// pollBudget bounds the messages that one poll handles, so that conditions are looked at
// in between.
const pollBudget = 32

// The ladder of a live wait: polls at full speed, polls with a PAUSE, then yields, then a
// sleep in the kernel after idleTimes.sleep. Where ranks outnumber CPUs there is one poll and
// no PAUSE: the CPU is better used by somebody else.
const (
	hotPolls   = 64
	pausePolls = 16
	spinPolls  = 8 // of the former, for which a Spin stands
)

// idleTimes are the times after which an idle wait changes its behaviour.
type idleTimes struct {
	hot   int           // polls at full speed
	pause int           // polls with a PAUSE, then yield
	sleep time.Duration // yield until then, sleep afterwards

	crowded bool // ranks outnumber CPUs
}

// never is an alert that does not come.
const never = time.Duration(math.MaxInt64)

// WaitUntil polls until cond is true: the one way to wait for what handlers do
// (GASNET_BLOCKUNTIL). cond is evaluated on the calling goroutine, only while no handler
// runs, first before any poll; only handlers may make it true, and since one poll may run
// many handlers it must be monotone: >=, not ==. cond must not call the library. A store
// that a peer makes directly into this rank's memory wakes nobody: WaitSilent is for that.
// WaitUntil returns the job's failure as soon as there is one, and never hangs on a dead
// peer. It may not be called in a handler.
func (c *Context) WaitUntil(cond func() bool) error { return c.wait("WaitUntil", cond) }

// WaitFor is WaitUntil that reports and errors call what, for layers above.
func (c *Context) WaitFor(what string, cond func() bool) error { return c.wait(what, cond) }

// WaitPeer is WaitFor for an answer of one peer, of which reports tell the rank.
func (c *Context) WaitPeer(what string, peer Rank, cond func() bool) error {
	c.peer, c.peers = peer, true
	err := c.wait(what, cond)
	c.peers = false
	return err
}

// WaitSilent is WaitUntil for a condition that may also become true without a handler
// having run, by local completion or a peer's direct store. The condition is looked at after
// empty polls too, and at least once a millisecond. Virtual time knows no direct stores: there
// the condition is looked at when something arrives.
func (c *Context) WaitSilent(cond func() bool) error { return c.waitSilent("WaitSilent", cond) }

func (c *Context) waitSilent(op string, cond func() bool) error {
	c.silent = true
	err := c.wait(op, cond)
	c.silent = false
	return err
}

// Poll runs the handlers of some messages that have arrived, and returns the job's failure if
// there is one. In Many mode it does nothing while another context
// polls. Not allowed in a handler.
func (c *Context) Poll() error {
	ep := c.ep
	if c.restricted != 0 {
		return c.misplaced("Poll")
	}
	if ep.single {
		ep.poller = c
		ep.poll()
	} else if alone, _ := c.enterAlone(); alone {
		ep.poller = c
		ep.poll()
		c.leaveAlone()
	} else if ep.progress.enter() {
		ep.poller = c
		if ep.poll() > 0 {
			ep.progress.burst(ep)
		}
		ep.progress.leave()
	}
	return ep.job.failure()
}

// poll delivers what has arrived, then has the layer above carry on if it asked for that.
// It returns how much happened.
func (ep *Endpoint) poll() int {
	shm.Signal32(&ep.state.Polls, ep.state.Polls+1)
	return ep.note(ep.conduit.Poll(pollBudget) + ep.carryOn())
}

// spin is poll by a Spinner.
func (ep *Endpoint) spin() int {
	shm.Signal32(&ep.state.Polls, ep.state.Polls+1)
	return ep.note(ep.spinner.Spin(pollBudget) + ep.carryOn())
}

// note counts a poll in which n things have happened, if any.
func (ep *Endpoint) note(n int) int {
	if n > 0 {
		shm.Publish32(&ep.state.Found, ep.state.Found+1)
	}
	return n
}

// carryOn has the layer above carry on if it asked for that, and returns how much it did.
func (ep *Endpoint) carryOn() (n int) {
	if ep.state.Kicked != 0 {
		c := ep.poller
		c.restricted |= advancing
		n = ep.advance(ep.carrier)
		c.restricted &^= advancing
	}
	return n
}

// OnAdvance has every poll call f after a Kick, until Unkick. So the layer above carries on with
// what several messages make up when messages arrive, whatever the rank waits for. f runs as a
// handler does, on the polling goroutine and with no handler beside it. The poller's context is
// refused to f as to a handler, since that context may have a request that waits for room; but f
// may send immediate requests by the context that it is given, its own. f returns how much it
// did, 0 if nothing. OnAdvance is called once, before the first Kick.
func (ep *Endpoint) OnAdvance(f func(*Context) int) {
	ep.advance = f
}

// Kick asks for calls of what OnAdvance set. Call it in a handler, below Exclusively, or in
// f itself; likewise Unkick.
func (ep *Endpoint) Kick() { ep.state.Kicked = 1 }

// Unkick ends what Kick began.
func (ep *Endpoint) Unkick() { ep.state.Kicked = 0 }

// wait is where everything that blocks ends up; what names the wait in reports.
func (c *Context) wait(what string, cond func() bool) error {
	switch ep := c.ep; {
	case c.restricted != 0:
		return c.misplaced(what)
	case ep.detour:
		return c.waitDetour(what, cond)
	case ep.single:
		_, err := c.waitSingle(what, cond)
		return err
	}
	return c.waitLive(what, cond)
}

// waitLive is the wait of a live rank in Many mode.
func (c *Context) waitLive(what string, cond func() bool) error {
	if alone, _ := c.enterAlone(); alone {
		crowded, err := c.waitSingle(what, cond)
		c.leaveAlone()
		if !crowded {
			return err
		}
	}
	return c.waitMany(what, cond)
}

// waitSingle is the wait of a rank with one calling goroutine. It reports crowded when
// there is another.
func (c *Context) waitSingle(what string, cond func() bool) (crowded bool, err error) {
	if cond() {
		return false, nil
	}
	ep := c.ep
	ep.poller = c
	l := ladder{ep: ep, c: c, what: what}
	hot := ep.idle.hot
	for {
		n := 0
		for n == 0 && hot > 0 {
			// A spin would keep a peer's store, and the layer above, from being noticed.
			if ep.spinner != nil && hot >= spinPolls && !c.silent && ep.state.Kicked == 0 {
				n = ep.spin()
				hot -= spinPolls
				continue
			}
			n = ep.poll()
			hot--
			if c.silent && cond() {
				return false, nil
			}
		}
		if cond() {
			return false, nil
		}
		if atomic.LoadUint32(&ep.state.Over) != 0 && !ep.single {
			return true, nil
		}
		if err := ep.job.failure(); err != nil {
			return false, err
		}
		if n > 0 {
			hot = ep.idle.hot
			l.reset()
			continue
		}
		if hot = 1; l.step() {
			if !ep.sleeper.Arm() {
				l.sleep(c.silent)
			}
			ep.sleeper.Disarm()
		}
	}
}

// waitModelled is the wait of a coroutine: it parks after the first empty poll or, where the
// conduit can tell, in place of it, and a wake-up falls on the grid of polls that spinning
// would have made.
func (c *Context) waitModelled(what string, cond func() bool) error {
	ep, p := c.ep, c.ep.proc
	ep.poller = c
	for {
		arrivals := p.Arrived()
		if cond() {
			return nil
		}
		if err := ep.job.failure(); err != nil {
			return err
		}
		cost, idle := ep.idlePoll()
		if !idle {
			before := p.Now()
			if ep.poll() > 0 || p.Arrived() != arrivals {
				continue
			}
			cost = p.Now() - before
		}
		p.SetWaiting(what)
		p.Park(cost)
		p.SetWaiting("")
	}
}

// idlePoll reports whether the next poll would be in vain, as Idler.Idle does.
func (ep *Endpoint) idlePoll() (cost Time, idle bool) {
	if ep.idler == nil || ep.state.Kicked != 0 {
		return 0, false
	}
	return ep.idler.Idle()
}

// ladder decides how an idle live wait spends its time.
type ladder struct {
	ep      *Endpoint
	c       *Context
	what    string
	n       int           // idle turns since the last productive poll
	since   time.Time     // when yielding began
	alert   time.Duration // after that long it is told that the wait takes long
	counted time.Duration // of it, by account
	calm    bool          // the goroutine that waits is not panicking; a panic that begins in a wait ends the wait
}

func (l *ladder) reset() { l.n = 0 }

// step passes one idle turn, after the polls at full speed; it reports true when it is time
// to sleep in the kernel. The caller is the one who polls.
func (l *ladder) step() (sleep bool) {
	l.n++
	switch {
	case l.n <= l.ep.idle.pause:
		cpu.Pause()
		return false
	case l.n == l.ep.idle.pause+1:
		l.since, l.alert, l.counted = time.Now(), l.ep.job.cfg.alert(0), 0
	}
	// Gosched lets goroutines of this process run, but no other thread. Where there are too
	// few CPUs, every fourth turn serves those.
	together, others := l.ep.shared || l.ep.progress.crowded(), l.ep.idle.crowded && l.n%4 == 0
	if together && !others || l.n%32 == 0 {
		runtime.Gosched()
	} else {
		cpu.Yield()
	}
	idle := time.Since(l.since)
	if l.ep.watch != nil {
		l.account(idle)
	}
	if l.ep.asked.Load() != nil {
		l.answer()
	}
	if idle >= l.alert {
		l.alert = l.ep.job.cfg.alert(idle)
		l.ep.job.stalled(l.c.waiting(l.what, idle))
	}
	if idle < l.ep.idle.sleep {
		return false
	}
	if !l.calm && panicking() {
		// A deferred call waits while a panic is on its way out: let it pass.
		l.ep.job.fail(&ExitError{2, fmt.Sprintf("rank %d is panicking", l.ep.job.rank)})
		return false
	}
	l.calm = true
	return true
}

// silentSleep is how long a wait sleeps at most that nobody may wake: one for a silent condition,
// or over a conduit that cannot wake a sleeper. See sleepTime.
const silentSleep = time.Millisecond

// crowdedIdle is how long a wait that nobody can wake yields the CPU at most where ranks outnumber
// CPUs. The kernel lets who sleeps and comes back soon run before others; who yields it
// takes for busy, and lets others run for milliseconds first.
const crowdedIdle = 50 * time.Microsecond

// sleepTime returns how long such a wait sleeps once after it has been idle for some time: a small part of
// that. If it were as long as a wait is awake, two ranks that send messages to and fro would
// each fall asleep while the other sleeps, every time; and of n ranks that pass one on in turn,
// each of which finds it half a sleep late, the round would become ever longer if a sleep were more
// than 2/n of it.
func sleepTime(idle time.Duration) time.Duration {
	return min(max(idle/32, silentSleep/32), silentSleep)
}

// sleep blocks until the conduit or the job wakes this rank, or an alert is due; not
// longer than silentSleep if the condition is silent.
func (l *ladder) sleep(silent bool) {
	ep := l.ep
	fds := [2]unix.PollFd{{Fd: int32(ep.bell), Events: unix.POLLIN}, {Fd: int32(ep.sleeper.FD()), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if silent || fds[1].Fd < 0 {
		timeout = &unix.Timespec{Nsec: int64(sleepTime(time.Since(l.since)))}
	}
	if timeout == nil && l.alert != never {
		left := unix.NsecToTimespec(int64(max(0, l.alert-time.Since(l.since))))
		timeout = &left
	}
	if ep.job.failure() == nil {
		ep.job.cfg.ppoll(fds[:], timeout) // interrupted or not, the caller looks again
	}
	if ep.watch != nil {
		l.account(time.Since(l.since))
	}
	if ep.job.failure() == nil {
		shm.Silence(ep.bell)
	}
}

// panicking reports whether a panic is unwinding the calling goroutine.
func panicking() bool { return calledBy(0, "runtime.gopanic") }

// inPoll reports whether the caller, less a number of calls that it has come through, was called by what
// runs in polls, Exclusively, and waits that poll without locks, of whatever endpoint: a handler, a condition, the
// function of OnAdvance. A wait that has come so far as to ask is not yet one of those.
func inPoll(own int) bool {
	const context = "github.com/aqueduct-go/aqueduct/core.(*Context)."
	return calledBy(own+1, context+"Poll", context+"waitSingle", context+"Exclusively")
}

// calledBy reports whether one of the functions is on the calling goroutine's stack, above the caller and
// own-1 of those that have called it.
func calledBy(own int, names ...string) bool {
	own += 2 // Callers and calledBy
	pcs := make([]uintptr, 64)
	for runtime.Callers(own, pcs) == len(pcs) {
		pcs = make([]uintptr, 2*len(pcs))
	}
	frames := runtime.CallersFrames(pcs[:runtime.Callers(own, pcs)])
	for {
		f, more := frames.Next()
		if slices.Contains(names, f.Function) {
			return true
		}
		if !more {
			return false
		}
	}
}
