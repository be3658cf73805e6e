package core

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// progress is the progress lock of an endpoint in Many mode: one context at a time polls
// and runs handlers, the others park. Whoever has polled productively gives all parked
// contexts a turn to look at their conditions, and wakes one when it leaves, so that
// somebody polls as long as anybody waits.
type progress struct {
	busy     atomic.Uint32 // 1: a context polls
	waiting  atomic.Int32  // len(parked)
	sleeping atomic.Bool   // a context sleeps in the kernel, without the lock
	mu       sync.Mutex
	parked   []*Context
}

// enter takes the lock if it is free.
func (p *progress) enter() bool { return p.busy.Load() == 0 && p.busy.CompareAndSwap(0, 1) }

// leave releases the lock.
func (p *progress) leave() { p.busy.Store(0) }

// crowded reports whether other contexts are parked.
func (p *progress) crowded() bool { return p.waiting.Load() > 0 }

// park blocks c until somebody wakes it, if stay, evaluated after c has queued up, still
// holds; else it returns at once.
func (p *progress) park(c *Context, stay func() bool) {
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
	l := ladder{ep: ep, what: what}
	for {
		if err := ep.job.failure(); err != nil {
			return err
		}
		if !p.enter() {
			p.park(c, func() bool { return p.busy.Load() != 0 && ep.job.failure() == nil })
			continue
		}
		ep.poller = c
		end := c.pollMany(&l, cond)
		p.leave()
		switch end {
		case satisfied:
			p.wakeOne()
			return nil
		case productive:
			p.wakeAll(ep)
			runtime.Gosched()
		case armed:
			l.sleep()
			ep.sleeper.Disarm()
			p.sleeping.Store(false)
			p.wakeAll(ep)
		case idle:
			p.park(c, func() bool { return p.sleeping.Load() && ep.job.failure() == nil })
		}
	}
}

// turn is how a poller's turn ended.
type turn uint8

const (
	satisfied  turn = iota // its condition holds
	productive             // handlers ran and others wait: let them look
	armed                  // nothing came for long: sleep in the kernel
	idle                   // the same, but another context sleeps there: park
	failed                 // the job has failed
)

// pollMany polls with the progress lock held until its turn ends.
func (c *Context) pollMany(l *ladder, cond func() bool) turn {
	ep := c.ep
	p := &ep.progress
	for {
		if cond() {
			return satisfied
		}
		if ep.conduit.Poll(pollBudget) > 0 {
			l.reset()
			if p.crowded() || p.sleeping.Load() {
				return productive
			}
			continue
		}
		if ep.job.failure() != nil {
			return failed
		}
		if !l.step() {
			continue
		}
		if p.sleeping.Load() {
			return idle
		}
		if !ep.sleeper.Arm() {
			p.sleeping.Store(true)
			return armed
		}
		ep.sleeper.Disarm()
	}
}

// exclusively runs f while no handler runs and no context polls.
func (ep *Endpoint) exclusively(f func()) {
	if ep.single {
		f()
		return
	}
	for !ep.progress.enter() {
		runtime.Gosched()
	}
	f()
	ep.progress.leave()
	ep.progress.wakeOne()
}
