package vtime

import (
	"context"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// Live is a loop that the host's monotonic clock drives: an event fires when somebody looks and its
// time has come, in the order of a simulation. Whoever likes may look: a goroutine of the loop's own
// ([Live.Run]), ranks in their polls ([Live.Poll]), or both.
//
// Time 0 is when the loop was made. [Loop.Now] is the clock as it was read last, before the first of
// a batch of events, so it never goes back, and no event fires before its time. How late one fires is
// the host's matter. What an event schedules for a time that has passed meanwhile fires as soon as it
// can: a timer that is set anew by each of its events does not fire once for each time that the host
// has missed. After 106 days all times have come.
//
// Events fire one at a time, whoever looks. Apart from events, only Do may reach what they use; until
// the first Poll, Run or Do, whoever sets the loop up may. A panic of an event is that of whoever has
// looked.
type Live struct {
	Loop
	start time.Time

	turn  sync.Mutex    // held by who is in the loop
	until Time          // when the goroutine of Run looks again; 0: it looks already, or is none
	bell  chan struct{} // it is to look earlier
}

// nobody owns a live loop that nobody is in. It is the identity of no goroutine.
const nobody = 1

// NewLive returns a live loop, whose time 0 is now. The seed decides what its generators give (Rand).
func NewLive(seed uint64) *Live {
	return &Live{Loop: Loop{seed: seed, live: true}, start: time.Now(), bell: make(chan struct{}, 1)}
}

// Poll fires what is due, and returns how many events that were. It does not block: if another
// goroutine is in the loop it returns 0. Events may not call it.
func (v *Live) Poll() int {
	if !v.turn.TryLock() {
		return 0
	}
	return v.look()
}

// Do calls f as an event is fired: while no event is, and with the clock at the present time. f is how
// the rest of the program reaches what the events use. It blocks while another goroutine is in the
// loop. Events may not call it.
func (v *Live) Do(f func()) {
	v.turn.Lock()
	defer v.leave()
	v.enter()
	f()
}

// TryDo is Do that does not block: if another goroutine is in the loop it does nothing, and reports
// false.
func (v *Live) TryDo(f func()) bool {
	if !v.turn.TryLock() {
		return false
	}
	defer v.leave()
	v.enter()
	f()
	return true
}

// Fire is Poll for who is in the loop by Do or TryDo.
func (v *Live) Fire() int { return v.fireUntil(v.now) }

// Next returns how long it takes until the next event is due, 0 if one is; false if there is none. It
// is for whoever polls and would like to sleep. Events may not call it.
func (v *Live) Next() (wait time.Duration, ok bool) {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.next()
}

// Run fires what is due, and sleeps in between, until ctx is done. One goroutine at a time may call
// it. Sleeping is as exact as the host's timers, some 100 µs; who needs more polls besides.
func (v *Live) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		v.turn.Lock()
		v.look()
		timer.Reset(v.rest())
		select {
		case <-ctx.Done():
		case <-v.bell:
		case <-timer.C:
		}
		v.turn.Lock()
		v.until = 0
		v.turn.Unlock()
	}
}

// Close ends the loop, and its trace, and returns an error if that could not be written. No event
// fires any more. Events may not call it.
func (v *Live) Close() error {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.close()
}

// look fires what is due, for who has the turn, and gives that up.
func (v *Live) look() int {
	defer v.leave()
	v.enter()
	return v.fireUntil(v.now)
}

// enter has the caller, who has the turn, be in the loop.
func (v *Live) enter() {
	v.owner = cpu.Goroutine()
	v.now = max(v.now, v.clock())
}

// leave gives the turn up, and wakes the goroutine of Run if it would sleep past the next event.
func (v *Live) leave() {
	v.owner = nobody
	if at, ok := v.first(); ok && at < v.until {
		v.until = at
		select {
		case v.bell <- struct{}{}:
		default:
		}
	}
	v.turn.Unlock()
}

// rest has the goroutine of Run sleep, and returns for how long.
func (v *Live) rest() time.Duration {
	v.turn.Lock()
	defer v.turn.Unlock()
	wait, ok := v.next()
	if v.until = end; !ok {
		return end.Duration()
	}
	v.until, _ = v.first()
	return wait
}

// next is Next, for who has the turn.
func (v *Live) next() (wait time.Duration, ok bool) {
	at, ok := v.first()
	if !ok {
		return 0, false
	}
	// Rounded up: a sleep that ends too early would be for nothing.
	return time.Duration(max(0, at-v.clock()).Plus(Nanosecond-1) / Nanosecond), true
}

// First returns when the next event is due, for who is in the loop; false if there is none.
func (v *Live) First() (at Time, ok bool) { return v.first() }

// first returns when the next event is due; false if there is none.
func (v *Live) first() (at Time, ok bool) {
	if v.over || v.queue.Len() == 0 {
		return 0, false
	}
	e, _ := v.queue.entries.first()
	return e.at, true
}

// clock reads the host's clock.
func (v *Live) clock() Time { return FromDuration(time.Since(v.start)) }
