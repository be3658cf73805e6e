package vtime

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// Target is the receiver of events. Fire runs to its end, and no time passes
// in it: it may schedule events, call Arrive and Unwind, but it is no proc, so
// it cannot wait. The words a and b are those given to At.
type Target interface {
	Fire(a, b uint64)
}

// Loop is a clock and the events that are due at its times: all that hardware, and the
// programs in it, need to know of time. Whatever is written for a Loop runs unchanged by each
// of its drivers, of which it is a part: a [Simulation], a [Kernel] or a [Live].
//
// A loop with its targets belongs to one logical thread; different loops share nothing and may
// run in parallel.
type Loop struct {
	now    Time
	queue  Queue[event]
	timers timerSlots
	fired  uint64 // events and wake-ups that have happened
	live   bool   // the clock is the host's, and may have passed a time meanwhile

	seed    uint64
	trace   *trace           // nil: none
	counted []func() []Usage // the resources of models
	chance  string           // why the run is not deterministic; "" if it is
	setUp   Time             // when a model has last set something up

	over  bool       // no event fires any more
	mu    sync.Mutex // guards cause
	cause error      // why it is over

	owner uintptr // identity of the goroutine that may call the loop; 0: not known
}

// event is what happens when an entry of the queue is due.
type event struct {
	to   Target
	a, b uint64
}

// Now returns the loop's time: that of the event which fires, of the host's clock when that was
// read last (see Live), or the one up to which the running proc has synchronised. See Proc.Now for
// a proc's own.
func (l *Loop) Now() Time { return l.now }

// Over reports whether the run is over: no event fires any more, whatever is scheduled.
func (l *Loop) Over() bool { return l.over }

// Events returns how many events and wake-ups have happened.
func (l *Loop) Events() uint64 { return l.fired }

// Disturb says that something of the host, such as a time measured on it, is
// going to influence the run, which is then not deterministic. The first reason
// counts; it goes into the trace.
func (l *Loop) Disturb(reason string) {
	if l.chance != "" {
		return
	}
	l.chance = reason
	if l.trace != nil {
		l.traced(l.trace.comment("not deterministic from %d on: %s", int64(l.now), reason))
	}
}

// Disturbed returns the reason given to Disturb, or "" for a run that depends
// on nothing but its seed.
func (l *Loop) Disturbed() string { return l.chance }

// SetUp says that a model has just set something up that others may use from now on, such as a
// connection. Who times a model can then tell whether it was warm.
func (l *Loop) SetUp() { l.setUp = l.now }

// LastSetUp returns when SetUp was last called, or 0 if it never was.
func (l *Loop) LastSetUp() Time { return l.setUp }

// At schedules to.Fire(a, b) for time t. Events of one time fire in the order
// in which they were scheduled. If t has passed, a loop that the host's clock drives fires the
// event as soon as it can; any other panics. At allocates only when more events are scheduled at
// once than ever before.
func (l *Loop) At(t Time, to Target, a, b uint64) {
	if t < l.now {
		t = l.late("event", to, t)
	}
	if l.owner != 0 && l.owner != cpu.Goroutine() {
		panic(l.foreign("At"))
	}
	q := &l.queue
	q.entries.push(entry{at: t, key: q.next(), slot: q.put(event{to, a, b})}) // Push would be a call more
}

// late returns the time that stands for t, which has passed.
func (l *Loop) late(what string, to Target, t Time) Time {
	switch {
	case t < 0: // a sum that is no Time
		panic(fmt.Sprintf("vtime: %s for %T after the end of virtual time, which lasts 106 days; it is already %v", what, to, l.now))
	case l.live:
		return l.now
	}
	panic(fmt.Sprintf("vtime: %s for %T scheduled at %v, but it is already %v", what, to, t, l.now))
}

// foreign is what a goroutine panics with that may not call the loop.
func (l *Loop) foreign(call string) string {
	if l.live {
		return fmt.Sprintf("vtime: %s called outside of the events of a live loop; call it by Live.Do", call)
	}
	return foreign(call, "")
}

// fire lets happen what an entry that has been taken from the queue stands for, unless that was
// called off.
func (l *Loop) fire(e entry) {
	if e.slot&timerEntry != 0 {
		l.expire(e)
		return
	}
	l.now = max(l.now, e.at)
	l.fired++
	ev := l.take(e.slot)
	if l.trace != nil {
		l.traced(l.trace.event(l.now, &ev))
	}
	ev.to.Fire(ev.a, ev.b)
}

// take is Queue.take of an event, of which the target alone must not be kept alive.
func (l *Loop) take(slot uint32) event {
	q := &l.queue
	ev := q.values[slot]
	q.values[slot].to = nil
	q.free = append(q.free, slot)
	return ev
}

// fireUntil fires what is due up to t, and returns how many events that were. The clock is then at
// the last of them.
func (l *Loop) fireUntil(t Time) int {
	before := l.fired
	for q := &l.queue.entries; q.n > 0 && !l.over; {
		var e entry
		if q.head < len(q.run) && len(q.near) == 0 { // mostly, and without a call
			if e = q.run[q.head]; e.at > t {
				break
			}
			q.head++
			q.n--
		} else {
			due := false
			if e, due = q.popUntil(t); !due {
				break
			}
		}
		if e.slot&timerEntry != 0 {
			l.expire(e)
		} else {
			l.fire(e)
		}
	}
	return int(l.fired - before)
}

// end says that the run is over. The first cause counts.
func (l *Loop) end(cause error) {
	if !l.over {
		l.mu.Lock()
		l.over, l.cause = true, cause
		l.mu.Unlock()
	}
}

// Rand returns a new generator. Its numbers depend on the loop's seed and on
// purpose alone, so that one more user of chance does not change what the
// others see. Asking twice for one purpose gives the same numbers twice.
func (l *Loop) Rand(purpose string) *rand.Rand {
	text := append(binary.LittleEndian.AppendUint64(nil, l.seed), purpose...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(text)))
}
