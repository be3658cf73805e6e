package vtime

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// Proc is a coroutine with a time of its own: a rank of a modelled job. Its
// methods are for its own body, apart from Arrive and the plain getters.
type Proc struct {
	// Arrivals counts the calls of Arrive. Whoever waits notes it before
	// looking for what it waits for; see the package documentation.
	Arrivals uint64

	kernel *Kernel
	name   string
	key    uint64 // of its wake-ups in the queue
	lag    Time   // how far it is ahead of the kernel
	looker Looker // is called before the proc looks; may be nil

	parked bool   // waits for Arrive
	since  Time   // when it parked last
	period Time   // of the poll grid on which it wakes
	op     string // what it waits for
	stuck  *Wait  // its entry in the deadlock report

	at        *coroutine // on which its goroutine sleeps, while it does
	trail     *trail     // for prefetching
	self      uintptr    // identity of its goroutine; 0: not known
	coroutine coroutine  // with which the goroutine was made

	body  func(*Proc)
	ended bool
	lost  bool          // it never runs again
	id    atomic.Uint64 // its goroutine's number in dumps

	explain func(op string) string // nil: as it is
}

// Looker is a model that puts off what only one proc can see, until that proc may look.
type Looker interface{ Look() }

// Kernel returns the kernel that p belongs to.
func (p *Proc) Kernel() *Kernel { return p.kernel }

// Name returns the name given to Spawn.
func (p *Proc) Name() string { return p.name }

// Now returns p's own time: the kernel's, and by how much p is ahead of it.
func (p *Proc) Now() Time { return p.kernel.now + p.lag }

// Charge lets d pass for p alone. It panics if d is negative, and it or the next
// Sync or Park if virtual time, of 106 days, is over then. A nil p is a rank that
// runs live, and nothing is charged.
func (p *Proc) Charge(d Time) {
	if p == nil {
		return
	}
	lag := p.lag + d
	if d|lag < 0 {
		panic("vtime: negative time charged, or more than the 106 days of virtual time") // a constant, so that Charge is inlined
	}
	p.lag = lag
}

// isOver is what calls panic with that would lead beyond the last point in time.
const isOver = "vtime: virtual time, of 106 days, is over"

// Sync brings the kernel to p's own time: all that is due before, and every
// event due at that very time, has then happened, so that ordinary loads see
// what the rank would see. It switches coroutines only if another proc is due
// first. A nil p is a rank that runs live, and nothing happens.
func (p *Proc) Sync() {
	if p == nil {
		return
	}
	p.mayWait("Sync")
	k := p.kernel
	e := entry{at: p.Now(), key: p.key}
	if e.at < 0 {
		panic(isOver)
	}
	p.lag = 0
	if k.first(e) {
		k.now = e.at
	} else {
		k.queue.entries.push(e)
		p.give(k.due())
	}
	if p.looker != nil {
		p.looker.Look()
	}
}

// first tells whether an entry that is not in the queue comes before all that are.
func (k *Kernel) first(e entry) bool {
	if k.queue.entries.n == 0 {
		return true
	}
	first, _ := k.queue.entries.first()
	return e.before(first) != 0
}

// BeforeLook has l called whenever Sync or Park has brought p to a time, before p goes on.
func (p *Proc) BeforeLook(l Looker) { p.looker = l }

// Ended reports whether p's body has returned.
func (p *Proc) Ended() bool { return p.ended }

// Park waits for Arrive. The poll grid starts at p's own time and has the given
// period; p wakes at its first point, the start included, that is not before
// the arrival: when it would have seen it, had it gone on polling. With period
// 0 it wakes at the arrival. What arrived before the call does not count; the
// package documentation has the loop in which nothing is lost.
func (p *Proc) Park(period Time) {
	p.mayWait("Park")
	if period < 0 {
		panic("vtime: negative poll period")
	}
	p.parked, p.since, p.period = true, p.Now(), period
	if p.since < 0 {
		panic(isOver)
	}
	p.lag = 0
	p.give(p.kernel.due())
	if p.looker != nil {
		p.looker.Look()
	}
}

// Parked reports whether p is in Park, and nothing has arrived for it.
func (p *Proc) Parked() bool { return p.parked }

// Arrive tells p that something has come that may end its waiting. Events call
// it, and procs may, p among them. If the caller is another proc and ahead of
// the kernel, the arrival happens when the kernel reaches the caller's time.
func (p *Proc) Arrive() {
	k := p.kernel
	if r := k.running; r != nil && r != p && r.lag > 0 {
		k.At(r.Now(), arrival{p}, 0, 0)
		return
	}
	p.Arrivals++
	if p.parked {
		p.parked = false
		k.queue.entries.push(entry{at: p.nextPoll(), key: p.key})
	}
}

// arrival is an Arrive put off to the time of the proc that called it.
type arrival struct{ p *Proc }

func (a arrival) Fire(_, _ uint64) { a.p.Arrive() }

// Label names the proc that something comes for.
func (a arrival) Label(_, _ uint64) string { return "arrival at " + a.p.name }

// nextPoll returns the first point of p's poll grid that is not in the past.
func (p *Proc) nextPoll() Time {
	late := p.kernel.now - p.since
	switch {
	case late <= 0:
		return p.since
	case p.period == 0:
		return p.kernel.now
	}
	polls := (late-1)/p.period + 1
	next := p.since + polls*p.period
	if next < 0 {
		panic(isOver)
	}
	return next
}

// SetWaiting says what p waits for, in case a deadlock is reported; it holds
// until the next call.
func (p *Proc) SetWaiting(op string) { p.op = op }

// Explain has a report of a deadlock tell f(op) instead of op, as given to SetWaiting. f
// runs while no proc does.
func (p *Proc) Explain(f func(op string) string) { p.explain = f }

// mayWait guards the calls that wait. When the run is over it does not return.
func (p *Proc) mayWait(method string) {
	if p.self != cpu.Goroutine() || p.kernel.running != p {
		p.misused(method)
	}
	if p.kernel.over {
		runtime.Goexit()
	}
}

// misused panics because of a call that is not the proc's own.
func (p *Proc) misused(method string) {
	k := p.kernel
	if g := cpu.Goroutine(); k.owner != 0 && g != k.owner && g != p.self {
		panic(foreign(method, p.name))
	}
	panic(fmt.Sprintf("vtime: %s of proc %q called by an event or another proc; only its own body may wait: under a model one goroutine per rank may use the job", method, p.name))
}

// foreign is what a goroutine panics with that is none of the kernel's.
func foreign(call, proc string) string {
	whose := ""
	if proc != "" {
		whose = fmt.Sprintf(" of proc %q", proc)
	}
	return fmt.Sprintf("vtime: %s%s called by a goroutine that the program has started; under a model only the goroutine that runs a rank's body may use its job: hand results to the body and let it communicate, or run the program live", call, whose)
}

// Lose has p stop for ever at the present time, as if its machine had died: its
// body goes no further, and nothing wakes it. Its deferred calls run when the
// run is over. A run whose procs have all ended or been lost is over. Events
// call it; it does nothing to a proc that has ended.
//
// A proc acts ahead of the kernel: what it has scheduled since its last wait
// may lie after its loss. Models of hardware can drop that, see Lost.
func (p *Proc) Lose() {
	k := p.kernel
	if k.running != nil {
		panic(fmt.Sprintf("vtime: Lose of proc %q called by a proc; an event must", p.name))
	}
	if p.ended || p.lost {
		return
	}
	p.lost, p.parked = true, false
	if k.unended--; k.unended == 0 {
		k.end(nil)
	}
}

// Lost reports whether Lose was called. A nil p is a rank that runs live.
func (p *Proc) Lost() bool { return p != nil && p.lost }
