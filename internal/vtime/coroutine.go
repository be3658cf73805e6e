package vtime

import (
	"iter"
	"runtime"
	"runtime/debug"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// The goroutines of a kernel, one for each proc and the one of the loop, take
// turns by coroutine switches, each of which goes from the one that waits
// straight to the one that is due. Package iter has the switch: iter.Pull
// makes a coroutine on which, at any time, exactly one goroutine sleeps. Whoever
// calls next, or yield, which must alternate, falls asleep there and wakes the
// one that slept. The usual caller and callee do that by turns, and a turn of
// a proc would take two switches, there and back; but it need not be they. So a
// goroutine sleeps on any coroutine, its own or another's, and who gives it the
// turn sleeps there after that. With n procs there are n coroutines, and of the
// n+1 goroutines one runs and the others sleep, one on each.
//
// All that stands on the documentation of iter except that yield may be called
// by another goroutine than the sequence's own, of which it says nothing.
// TestAnyGoroutineYields watches over that.

// coroutine is one coroutine of package iter. A goroutine is made with it, which
// sleeps on it at first, and ends on it: then it wakes who sleeps there.
type coroutine struct {
	next    func() (struct{}, bool)
	yield   func(struct{}) bool // set when the goroutine has started
	entered bool                // next was called last
}

// start makes c, whose goroutine is going to run f.
func (c *coroutine) start(f func()) {
	c.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		f()
	})
}

// swap puts the caller to sleep on c and wakes the goroutine that slept there.
// If that then ends on c by Goexit, the caller may end so, too.
func (c *coroutine) swap() {
	if c.entered = !c.entered; c.entered {
		c.next()
	} else {
		c.yield(struct{}{})
	}
}

// give gives the turn from p, the caller, to next, which may be p, and returns
// when p has it again. If the run is over then, it ends p. It does so by Goexit,
// not by a panic: no recover can stop that, nor mistake it for a failure of the
// program.
func (p *Proc) give(next *Proc) {
	k := p.kernel
	if next == p {
		k.running = p
		return
	}
	if next != &k.main {
		k.switches++
	}
	if len(k.procs) >= manyProcs {
		p.leaveTrail(next.at)
	}
	k.turn = next
	for k.turn != p { // reap wakes others on the way
		p.at = k.turn.at
		p.at.swap()
	}
	k.owner, k.running = p.self, p
	if k.over && !p.ended {
		p.leave()
	}
}

// leave ends p, which waits although the run is over.
func (p *Proc) leave() {
	if p.stuck != nil {
		p.stuck.notePanic()
	}
	runtime.Goexit()
}

// begin is called by the goroutine of p itself, which has the turn.
func (p *Proc) begin() {
	p.self = cpu.Goroutine()
	p.kernel.owner = p.self
	if p.kernel.watch.limit > 0 {
		p.id.Store(goroutineID())
	}
}

// run is what the goroutine of p does. It sleeps at the end, until reap has it go.
func (p *Proc) run() {
	k := p.kernel
	p.begin()
	next, returned := &k.main, false
	defer func() {
		switch v := recover(); {
		case v != nil:
			at := max(p.Now(), k.now) // its own time is negative if it is after the end
			k.end(&PanicError{Proc: p.name, At: at, Value: v, Stack: debug.Stack()})
		case !returned && !k.over:
			k.exited = true
			k.end(nil)
		}
		p.ended = true
		p.give(next)
	}()
	if !k.over {
		k.running = p
		p.body(p)
		p.Sync() // it ends at its own time
		p.ended = true
		if k.unended--; k.unended > 0 {
			next = k.due()
		}
	}
	returned = true
}

// unwind has the deferred calls of every proc run that has not ended by itself.
func (k *Kernel) unwind() {
	k.over = true
	for _, p := range k.procs {
		if !p.ended {
			k.running = p
			k.main.give(p)
			k.watch.state.CompareAndSwap(asked, quiet)
		}
	}
	k.running = nil
}

// reap has the goroutines of procs end, which have nothing left to do but that,
// from the i-th on, and closes ended when none is left. A goroutine ends on its
// own coroutine: so reap goes to sleep there, whoever sleeps there wakes and gives
// the turn to it, and when it ends reap wakes. If it ends by Goexit, reap may end
// with it, and goes on in another goroutine.
func (k *Kernel) reap(i int, ended chan<- struct{}) {
	defer func() {
		if i < len(k.procs) {
			go k.reap(i+1, ended)
			return
		}
		k.owner, k.running = 0, nil // whoever closes what the job has left may call the kernel
		close(ended)
	}()
	for ; i < len(k.procs); i++ {
		k.turn = k.procs[i]
		k.turn.coroutine.swap()
	}
}
