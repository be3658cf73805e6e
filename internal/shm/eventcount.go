package shm

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// EventCount lets goroutines and processes sleep until something has changed. It lives in
// shared memory beside what it stands for, and zero is its ready state. Whoever changes
// something stores the change and then calls Notify; nobody who waits misses it.
//
// Any number may wait, each for a condition of its own. A wait takes no polling and a
// notification without waiters takes no system call. A process that dies while it waits
// leaves only a superfluous system call per notification behind.
type EventCount struct {
	seq     uint32 // counts the notifications; the futex
	waiters uint32
}

// Count returns a number that changes with every notification.
func (e *EventCount) Count() uint32 { return atomic.LoadUint32(&e.seq) }

// Notify wakes all waiters, so that each evaluates its condition again.
func (e *EventCount) Notify() {
	atomic.AddUint32(&e.seq, 1) // a full barrier: the change and the count, then waiters
	if atomic.LoadUint32(&e.waiters) != 0 {
		futexWake(&e.seq)
	}
}

// Wait blocks, its thread included, until ready reports true or the timeout has passed
// (never if negative), and returns the last answer of ready. ready is called at least
// once, by the caller's goroutine.
func (e *EventCount) Wait(timeout time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	if timeout == 0 {
		return false
	}
	atomic.AddUint32(&e.waiters, 1) // a full barrier: waiters, then the count and the condition
	defer atomic.AddUint32(&e.waiters, ^uint32(0))
	start := time.Now()
	for {
		seq := e.Count()
		if ready() {
			return true
		}
		left := time.Duration(-1)
		if timeout > 0 {
			if left = timeout - time.Since(start); left <= 0 {
				return false
			}
		}
		if err := futexWait(&e.seq, seq, left); err != 0 && err != unix.EAGAIN && err != unix.EINTR && err != unix.ETIMEDOUT {
			panic("shm: futex wait: " + err.Error())
		}
	}
}
