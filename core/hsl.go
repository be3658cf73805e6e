package core

import "sync"

// HSL is a handler-safe lock: the one lock that handlers and the code outside them may
// share. While it is held its holder must not send, poll, wait or reply, so that the
// holder never depends on a handler that wants the lock. Locks are released in reverse
// order of acquisition and not held across a handler's return. Debug mode diagnoses
// breaches and ends the job. The zero value is unlocked; it must not be copied once used,
// nor shared between processes.
//
// A lock is eight bytes without a pointer, aligned to four, and what debug mode knows of it is kept by the
// context that holds it. So a lock may lie in any memory of the process, also outside the Go heap:
// a program in another language has locks in its own variables (gex_HSL_t).
type HSL struct {
	mu sync.Mutex
}

// held is a lock that a context holds; debug mode only.
type held struct {
	lock  *HSL
	below *held // the one that was taken before it
}

// holds reports whether the context holds the lock, as far as debug mode knows.
func (c *Context) holds(l *HSL) bool {
	for h := c.locks; h != nil; h = h.below {
		if h.lock == l {
			return true
		}
	}
	return false
}

// Lock acquires the lock, blocking until its holder releases it; allowed in handlers,
// with the token's context. In Single mode only the one goroutine and its handlers lock.
func (l *HSL) Lock(c *Context) {
	if c.ep.debug && c.holds(l) {
		c.ep.Misuse("HSL.Lock", "the lock is already held by this context")
		return
	}
	l.mu.Lock()
	c.took(l)
}

// TryLock acquires the lock if it is free and reports whether it did. Allowed in handlers.
func (l *HSL) TryLock(c *Context) bool {
	if c.ep.debug && c.holds(l) {
		c.ep.Misuse("HSL.TryLock", "the lock is already held by this context")
		return false
	}
	if !l.mu.TryLock() {
		return false
	}
	c.took(l)
	return true
}

// Unlock releases the lock.
func (l *HSL) Unlock(c *Context) {
	if c.ep.debug {
		switch {
		case !c.holds(l):
			c.ep.Misuse("HSL.Unlock", "the lock is not held by this context")
			return
		case c.locks.lock != l:
			c.ep.Misuse("HSL.Unlock", "locks must be released in reverse order of acquisition")
			return
		}
		c.locks = c.locks.below
		if c.locks == nil {
			c.restricted &^= locked
			if t := &c.ep.token; c.restricted&inHandler != 0 && t.state == tokenLocked {
				t.state = tokenLive
			}
		}
	}
	l.mu.Unlock()
}

// took notes that the context has taken the lock.
func (c *Context) took(l *HSL) {
	if !c.ep.debug {
		return
	}
	c.locks = &held{l, c.locks}
	c.restricted |= locked
	if t := &c.ep.token; c.restricted&inHandler != 0 && t.state == tokenLive {
		t.state = tokenLocked
	}
}
