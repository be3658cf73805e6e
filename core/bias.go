package core

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// bias lets the default context of an endpoint in Many mode do without locks as long as it
// is the only one. The context says by plain stores when it is inside an unlocked section;
// the first NewContext ends the bias: it sets over, and has every thread of the process run a
// barrier (membarrier). So either the default context saw over, or another one sees it inside, and
// waits until it is outside. The two words are State.Inside and State.Over, which is also set where there is no
// membarrier. State.Left says that another context has seen the default one outside since: from then on Inside
// tells nothing.
type bias struct {
	mu    sync.Mutex
	ended bool // Over is set, and the barrier has run
}

// enterAlone begins an unlocked section if c is the only context. Sections may nest: only
// the outermost, for which entered is true, is left.
func (c *Context) enterAlone() (alone, entered bool) {
	s := c.ep.state
	if c != &c.ep.Context {
		if atomic.LoadUint32(&s.Left) == 0 && c != c.ep.carrier { // that one runs inside
			c.ep.outlast()
		}
		return false, false
	}
	if s.Inside != 0 {
		return true, false
	}
	if atomic.LoadUint32(&s.Over) != 0 {
		return false, false
	}
	shm.Signal32(&s.Inside, 1)
	if atomic.LoadUint32(&s.Over) == 0 {
		return true, true
	}
	shm.Signal32(&s.Inside, 0)
	return false, false
}

// leaveAlone ends an unlocked section, whose stores who sees it left sees too.
func (c *Context) leaveAlone() { shm.Publish32(&c.ep.state.Inside, 0) }

// share ends the bias: from the next section on the default context locks as the others do.
func (ep *Endpoint) share() {
	b := &ep.bias
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended, ep.contexts = true, new(contexts)
	if ep.progress.Words == nil {
		ep.progress.share(ep)
	}
	if atomic.SwapUint32(&ep.state.Over, 1) != 0 {
		return
	}
	if err := shm.Membarrier(); err != nil {
		ep.job.abort(err)
	}
	shm.Ring(ep.bell) // in case it sleeps
}

// outlast returns when the default context is outside of the section in which the bias ended. It
// panics where the call of another context, which has called enterAlone, runs in that section itself.
func (ep *Endpoint) outlast() {
	const own = 3 // outlast, enterAlone and the call
	s := ep.state
	if atomic.LoadUint32(&s.Inside) != 0 && inPoll(own) {
		panic(ep.Misuse("Context", "a context that was made in a handler, or in what else runs while its rank polls, is used there"))
	}
	for atomic.LoadUint32(&s.Inside) != 0 {
		if ep.job.failure() != nil {
			return
		}
		runtime.Gosched()
	}
	atomic.StoreUint32(&s.Left, 1)
}
