package core

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// progress is the progress lock of an endpoint in Many mode. A context that waits is awake or parked.
// Those awake take turns with the lock: in a turn a context polls once, handlers run, and it looks at
// its own condition. A context that has had some turns in vain parks while another is awake. A
// context that is alone awake polls without making way to anybody, and in the end sleeps in the
// kernel. Thus somebody polls as long as anybody waits.
//
// A burst is what may have made conditions true. Who is awake sees the number of bursts change. Of
// those parked one is woken at a time, the one that has not looked for longest: it looks, and parks
// again if the burst was not for it. So contexts whose messages do not come cost the others little,
// however many they are.
type progress struct {
	*Words
	silent atomic.Int32 // contexts whose conditions may become true without a handler
	parked atomic.Int32 // contexts in the queue, or about to be
	turns  uint32       // counted with the lock held
	mu     sync.Mutex   // of the queue; taken after the lock
	first  *Context     // of the queue: parked longest, and so the one that has not looked for longest
	last   *Context
}

// silentTurns is the number of idle turns of a context that is alone awake after which others get a look
// that wait for room, say, of which a poll does not tell.
const silentTurns = 16

// wakingTurns is the number of turns at full speed of which one wakes a parked context, if that has not
// looked since the last burst: a switch of goroutines costs about as much as so many polls.
const wakingTurns = 8

// A context parks after idleTimes.hot turns in vain beside others, and after fewTurns where at most fewContexts
// wait: a turn costs a switch of goroutines, and where few wait the next burst is for one of them soon enough.
// Where many wait, to be woken one after the other takes longer than turns.
const (
	fewContexts = 4
	fewTurns    = 4
)

// share readies the words, before the first context but the default one exists.
func (p *progress) share(ep *Endpoint) {
	region, err := shm.NewRegion(int(unsafe.Sizeof(Words{})), shm.Local)
	if err != nil {
		p.Words = new(Words) // until the contexts have seen the failure
		ep.job.abort(err)
		return
	}
	p.Words = (*Words)(unsafe.Pointer(unsafe.SliceData(region.Bytes())))
	runtime.AddCleanup(ep, func(r *shm.Region) { _ = r.Close() }, region)
}

// enter takes the lock if it is free.
func (p *progress) enter() bool { return enter(&p.polling) }

// take takes the lock; it reports false when the job has failed. The caller is awake.
func (p *progress) take(ep *Endpoint) bool {
	for !p.enter() {
		if ep.job.failure() != nil {
			return false
		}
		cpu.Yield() // the holder may be a thread that waits for this CPU, or a goroutine
		runtime.Gosched()
	}
	return true
}

// leave releases the lock.
func (p *progress) leave() { p.polling.Store(0) }

// burst notes that something happened. Who sleeps in the kernel for all is to see to it.
func (p *progress) burst(ep *Endpoint) {
	p.bursts.Add(1)
	if p.sleeping.Load() {
		shm.Ring(ep.bell)
	}
}

// crowded reports whether other contexts are parked.
func (p *progress) crowded() bool { return p.parked.Load() > 0 }

// park blocks c, which is awake, until somebody wakes it. If nobody else would poll, or there was a
// burst since c looked, it only lets others run.
func (p *progress) park(c *Context, looked uint32) {
	p.mu.Lock()
	p.parked.Add(1) // before c is not awake: who leaves last wakes a parked one
	if p.awake.Add(-1) == 0 && !p.sleeping.Load() || looked != p.bursts.Load() || c.ep.job.failure() != nil {
		p.awake.Add(1)
		p.parked.Add(-1)
		p.mu.Unlock()
		runtime.Gosched()
		return
	}
	if c.since.IsZero() {
		c.since = time.Now()
	}
	c.looked = looked
	if p.last == nil {
		p.first = c
	} else {
		p.last.next = c
	}
	p.last = c
	p.mu.Unlock()
	<-c.turn
}

// wakeFirst wakes the context that has been parked longest, if there is one. The caller has mu.
func (p *progress) wakeFirst() {
	c := p.first
	if c == nil {
		return
	}
	if p.first, c.next = c.next, nil; p.first == nil {
		p.last = nil
	}
	p.parked.Add(-1)
	p.awake.Add(1)
	c.turn <- struct{}{}
}

// nudge wakes the context that has not looked for longest, if there was a burst since.
func (p *progress) nudge() {
	if p.parked.Load() == 0 {
		return
	}
	p.mu.Lock()
	if p.first != nil && p.first.looked != p.bursts.Load() {
		p.wakeFirst()
	}
	p.mu.Unlock()
}

// wakeAll wakes every parked context.
func (p *progress) wakeAll() {
	p.mu.Lock()
	for p.first != nil {
		p.wakeFirst()
	}
	p.mu.Unlock()
}

// quit is called when the caller is not awake any more. It wakes a context if nobody else polls.
func (p *progress) quit() {
	if p.awake.Add(-1) == 0 && p.crowded() && !p.sleeping.Load() {
		p.mu.Lock()
		p.wakeFirst()
		p.mu.Unlock()
	}
}

// waitMany is the wait of a rank whose goroutines share the endpoint.
func (c *Context) waitMany(what string, cond func() bool) error {
	ep := c.ep
	p := &ep.progress
	if c.silent {
		p.silent.Add(1)
		defer p.silent.Add(-1)
		if p.sleeping.Load() { // maybe without a time-out
			shm.Ring(ep.bell)
		}
	}
	l := ladder{ep: ep, c: c, what: what}
	c.what, c.since = what, time.Time{}
	looked := p.bursts.Load() - 1 // the burst after which cond was seen to be false
	patience := ep.idle.hot       // turns beside others until c parks
	if p.awake.Add(1)+p.parked.Load() <= fewContexts {
		patience = min(patience, fewTurns)
	}
	defer p.quit()
	for p.take(ep) {
		ep.poller = c
		end := c.takeTurn(&l, cond, &looked)
		p.leave()
		switch end {
		case satisfied:
			return nil
		case failed:
			return ep.job.failure()
		case beside:
			if patience--; patience > 0 {
				runtime.Gosched()
			} else {
				p.park(c, looked)
			}
		case idle:
			p.park(c, looked)
		case armed:
			p.awake.Add(-1)
			l.sleep(p.silent.Load() > 0)
			ep.sleeper.Disarm()
			p.bursts.Add(1) // room that returns ends a sleep, and a poll does not tell of it
			p.awake.Add(1)
			p.sleeping.Store(false)
		}
	}
	return ep.job.failure()
}

// turn is how a context's turn ended.
type turn uint8

const (
	satisfied turn = iota // its condition holds
	beside                // another context is awake, and is to have a turn
	armed                 // nothing came for long: sleep in the kernel
	idle                  // the same, but another context sleeps there: park
	failed                // the job has failed
)

// takeTurn polls with the lock held: once if others are awake, until something else is to be done if c is
// alone. However it ends, cond was seen to be false after burst *looked, or true.
func (c *Context) takeTurn(l *ladder, cond func() bool, looked *uint32) turn {
	ep := c.ep
	p := &ep.progress
	hot := ep.idle.hot
	for {
		if b := p.bursts.Load(); *looked != b {
			if *looked = b; cond() {
				return satisfied
			}
		}
		if ep.poll() > 0 {
			hot = ep.idle.hot + 1
			l.reset()
			p.burst(ep)
			if *looked = p.bursts.Load(); cond() {
				return satisfied
			}
		} else if c.silent && cond() {
			return satisfied
		}
		if p.turns++; hot <= 1 || p.turns%wakingTurns == 0 {
			p.nudge()
		}
		if ep.job.failure() != nil {
			return failed
		}
		if p.awake.Load() > 1 {
			return beside
		}
		if hot > 1 {
			hot--
			continue
		}
		if l.n%silentTurns == 0 && p.silent.Load() > 0 && p.crowded() {
			p.burst(ep)
		}
		if !l.step() {
			continue
		}
		if cond() { // room may have come before the last poll, which would not tell
			return satisfied
		}
		if p.sleeping.Load() {
			return idle
		}
		if !ep.sleeper.Arm() {
			if cond() { // room came during Arm, and another context's Reserve has taken note of it
				ep.sleeper.Disarm()
				return satisfied
			}
			// Returned room is no burst: from now on it would end the sleep, but until now
			// only who looked has seen it.
			*looked = p.bursts.Add(1)
			p.sleeping.Store(true)
			p.wakeAll()
			return armed
		}
		ep.sleeper.Disarm()
	}
}

// Exclusively runs f while no handler runs and no context polls, for state that handlers
// and goroutines share. f must not communicate except by immediate requests. An error means
// that f was not run: a handler or f itself called, or the job has failed.
func (c *Context) Exclusively(f func()) error {
	ep := c.ep
	if c.restricted != 0 {
		return c.misplaced("Exclusively")
	}
	if ep.single {
		f()
		return nil
	}
	if alone, _ := c.enterAlone(); alone {
		f()
		c.leaveAlone()
		return nil
	}
	p := &ep.progress
	p.awake.Add(1)
	defer p.quit()
	if !p.take(ep) {
		return ep.job.failure()
	}
	f()
	if ep.state.Kicked != 0 { // whoever waits is to poll
		p.burst(ep)
	}
	p.leave()
	return nil
}
