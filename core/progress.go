package core

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// progress is the progress lock of an endpoint in Many mode: one context at a time polls
// and runs handlers, the others park. A context parks only when it has looked at its
// condition since the last burst, that is since anything happened that could have made it
// true. Until then it is owed the lock, and whoever polls makes way. A burst wakes all
// parked contexts, and whoever leaves wakes one, so that somebody polls as long as anybody
// waits.
type progress struct {
	busy     atomic.Uint32 // 1: a context polls
	owed     atomic.Int32  // contexts that want the lock to look at their conditions
	bursts   atomic.Uint64 // counted with the lock held
	silent   atomic.Int32  // contexts whose conditions may become true without a handler
	waiting  atomic.Int32  // len(parked)
	sleeping atomic.Bool   // a context sleeps in the kernel, without the lock
	mu       sync.Mutex
	parked   []*Context
}

// silentTurns is the number of idle turns of the poller after which contexts get a look that
// wait for room, say, of which a poll does not tell.
const silentTurns = 16

// enter takes the lock if it is free.
func (p *progress) enter() bool { return p.busy.Load() == 0 && p.busy.CompareAndSwap(0, 1) }

// taken reports whether somebody has the lock, or is owed it.
func (p *progress) taken() bool { return p.owed.Load() != 0 || p.busy.Load() != 0 }

// burst notes that something happened, and has all contexts look.
func (p *progress) burst(ep *Endpoint) {
	p.bursts.Add(1)
	p.wakeAll(ep)
}

// leave releases the lock.
func (p *progress) leave() { p.busy.Store(0) }

// crowded reports whether other contexts are parked.
func (p *progress) crowded() bool { return p.waiting.Load() > 0 }

// park blocks c until somebody wakes it, if stay, evaluated after c has queued up, still
// holds; else it returns at once.
func (p *progress) park(c *Context, stay func() bool) {
	if c.since.IsZero() {
		c.since = time.Now()
	}
	p.mu.Lock()
	p.parked = append(p.parked, c)
	p.waiting.Store(int32(len(p.parked)))
	p.mu.Unlock()
	if stay() {
		<-c.turn
		return
	}
	p.mu.Lock()
	for i, x := range p.parked {
		if x == c {
			p.parked = append(p.parked[:i], p.parked[i+1:]...)
			break
		}
	}
	p.waiting.Store(int32(len(p.parked)))
	p.mu.Unlock()
	select { // a wake-up that came meanwhile
	case <-c.turn:
	default:
	}
}

// wakeOne gives the context that waited longest its turn.
func (p *progress) wakeOne() {
	if p.waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	if len(p.parked) > 0 {
		p.wakeLocked(p.parked[0])
		p.parked = append(p.parked[:0], p.parked[1:]...)
		p.waiting.Store(int32(len(p.parked)))
	}
	p.mu.Unlock()
}

// wakeAll gives every parked context a turn and ends a sleep in the kernel.
func (p *progress) wakeAll(ep *Endpoint) {
	if p.sleeping.Load() {
		shm.Ring(ep.bell)
	}
	if p.waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	for _, c := range p.parked {
		p.wakeLocked(c)
	}
	p.parked = p.parked[:0]
	p.waiting.Store(0)
	p.mu.Unlock()
}

func (p *progress) wakeLocked(c *Context) {
	select {
	case c.turn <- struct{}{}:
	default:
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
	looked := ^uint64(0) // the burst after which cond was seen to be false
	for {
		if err := ep.job.failure(); err != nil {
			return err
		}
		if looked != p.bursts.Load() {
			if !p.insist(ep) {
				continue
			}
		} else if p.taken() || !p.enter() {
			p.park(c, func() bool { return p.taken() && looked == p.bursts.Load() && ep.job.failure() == nil })
			continue
		}
		ep.poller = c
		end := c.pollMany(&l, cond)
		looked = p.bursts.Load()
		p.leave()
		switch end {
		case satisfied:
			p.wakeOne()
			return nil
		case yielded:
			runtime.Gosched()
		case armed:
			l.sleep(p.silent.Load() > 0)
			ep.sleeper.Disarm()
			p.sleeping.Store(false)
			p.burst(ep)
		case idle:
			p.park(c, func() bool {
				return p.sleeping.Load() && looked == p.bursts.Load() && ep.job.failure() == nil
			})
		}
	}
}

// insist takes the lock from whoever polls; it reports false when the job has failed.
func (p *progress) insist(ep *Endpoint) bool {
	p.owed.Add(1)
	defer p.owed.Add(-1)
	for !p.enter() {
		if ep.job.failure() != nil {
			return false
		}
		runtime.Gosched()
	}
	return true
}

// turn is how a poller's turn ended.
type turn uint8

const (
	satisfied turn = iota // its condition holds
	yielded               // another context is owed the lock
	armed                 // nothing came for long: sleep in the kernel
	idle                  // the same, but another context sleeps there: park
	failed                // the job has failed
)

// pollMany polls with the progress lock held until its turn ends. However it ends, cond
// was seen to be false after the last burst, or true.
func (c *Context) pollMany(l *ladder, cond func() bool) turn {
	ep := c.ep
	p := &ep.progress
	hot := ep.idle.hot
	for {
		n := 0
		if cond() {
			return satisfied
		}
		for ; n == 0 && hot > 0 && p.owed.Load() == 0; hot-- {
			if n = ep.poll(); n == 0 && c.silent && cond() {
				return satisfied
			}
		}
		if ep.job.failure() != nil {
			return failed
		}
		if n > 0 {
			hot = ep.idle.hot
			l.reset()
			p.burst(ep)
			continue
		}
		if p.owed.Load() > 0 {
			return yielded
		}
		hot = 1
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
			p.burst(ep)
			p.sleeping.Store(true)
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
	if !p.insist(ep) {
		return ep.job.failure()
	}
	f()
	if ep.kicked { // whoever waits is to poll
		p.burst(ep)
	}
	p.leave()
	p.wakeOne()
	return nil
}
