package core

import (
	"sync"
	"sync/atomic"
)

// HSL is a handler-safe lock: the one lock that handlers and the code outside them may
// share. While it is held its holder must not send, poll, wait or reply, so that the
// holder never depends on a handler that wants the lock. Locks are released in reverse
// order of acquisition and not held across a handler's return. Debug mode diagnoses
// breaches and ends the job. The zero value is unlocked; it must not be copied once used,
// nor shared between processes.
type HSL struct {
	mu    sync.Mutex
	owner atomic.Pointer[Context] // debug mode only
	below *HSL                    // debug mode: the lock the owner took before this one
}

// Lock acquires the lock, blocking until its holder releases it; allowed in handlers,
// with the token's context. In Single mode only the one goroutine and its handlers lock.
func (l *HSL) Lock(c *Context) {
	if c.ep.debug && l.owner.Load() == c {
		c.ep.Misuse("HSL.Lock", "the lock is already held by this context")
		return
	}
	l.mu.Lock()
	l.acquired(c)
}

// TryLock acquires the lock if it is free and reports whether it did. Allowed in handlers.
func (l *HSL) TryLock(c *Context) bool {
	if c.ep.debug && l.owner.Load() == c {
		c.ep.Misuse("HSL.TryLock", "the lock is already held by this context")
		return false
	}
	if !l.mu.TryLock() {
		return false
	}
	l.acquired(c)
	return true
}

// Unlock releases the lock.
func (l *HSL) Unlock(c *Context) {
	if c.ep.debug {
		switch {
		case l.owner.Load() != c:
			c.ep.Misuse("HSL.Unlock", "the lock is not held by this context")
			return
		case c.locks != l:
			c.ep.Misuse("HSL.Unlock", "locks must be released in reverse order of acquisition")
			return
		}
		c.locks, l.below = l.below, nil
		if c.locks == nil {
			c.restricted &^= locked
			if t := &c.ep.token; c.restricted&inHandler != 0 && t.state == tokenLocked {
				t.state = tokenLive
			}
		}
		l.owner.Store(nil)
	}
	l.mu.Unlock()
}

func (l *HSL) acquired(c *Context) {
	if !c.ep.debug {
		return
	}
	l.owner.Store(c)
	l.below, c.locks = c.locks, l
	c.restricted |= locked
	if t := &c.ep.token; c.restricted&inHandler != 0 && t.state == tokenLive {
		t.state = tokenLocked
	}
}
