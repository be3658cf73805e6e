package vtime

// Timer calls a Target once, at a time that can be moved and called off: a
// retransmission timer, a link that falls idle. It is in the order of events
// what a call of At would be, made by its last Reset. What was called off does
// not happen at all: it takes no time, is in no trace and ends no wait.
//
// Reset and Stop take effect when they are called. A proc that is ahead of the
// kernel calls Sync before, or it would stop what should already have happened.
type Timer struct {
	loop   *Loop
	due    instant // when it is to fire, and in which order among events of that time
	next   instant // of the entry that is queued for it; not after due
	set    bool    // it is to fire, as due says
	queued bool    // an entry of the queue stands for it: next

	to   Target
	a, b uint64
}

// instant is what two entries are ordered by. No two entries have one key.
type instant struct {
	at  Time
	key uint64
}

// NewTimer returns a timer that will call to.Fire(a, b), not set yet.
func (l *Loop) NewTimer(to Target, a, b uint64) *Timer {
	t := new(Timer)
	t.Init(l, to, a, b)
	return t
}

// Init makes a timer of l that will call to.Fire(a, b), not set yet: for a timer that is a field of what it calls, and
// so beside it in memory. It is called once, and the timer is not moved any more.
func (t *Timer) Init(l *Loop, to Target, a, b uint64) {
	t.loop, t.to, t.a, t.b = l, to, a, b
}

// Reset sets t to fire at the given time, instead of when it was set for. A time that has passed is
// what it is for At, which also says when Reset allocates. A timer may be set
// again in its own Fire.
func (t *Timer) Reset(at Time) {
	if at < t.loop.now {
		at = t.loop.late("timer", t.to, at)
	}
	t.set, t.due = true, instant{at, t.loop.queue.next()}
	// Most timers are moved away again and again. The entry that is queued then
	// stays where it is, and is moved when it comes to the front.
	if !t.queued || at < t.next.at { // a new key is greater than any other
		t.push()
	}
}

// Stop calls t off and reports whether it was set.
func (t *Timer) Stop() bool {
	was := t.set
	t.set = false
	return was
}

// Set reports whether t is to fire, and when.
func (t *Timer) Set() (at Time, ok bool) { return t.due.at, t.set }

// push queues an entry for when t is due. One that is queued for later stays
// behind, and is recognised when it comes by not being t.next.
func (t *Timer) push() {
	l := t.loop
	t.queued, t.next = true, t.due
	l.queue.entries.push(entry{at: t.due.at, key: t.due.key, slot: timerEntry | l.timers.put(t)})
}

// timerSlots is what the slots of entries of timers refer to: less memory than what those of events need.
type timerSlots struct {
	timers []*Timer
	free   []uint32
}

func (s *timerSlots) put(t *Timer) (slot uint32) {
	last := len(s.free) - 1
	if last < 0 {
		s.timers = append(s.timers, t)
		return uint32(len(s.timers) - 1)
	}
	slot = s.free[last]
	s.free = s.free[:last]
	s.timers[slot] = t
	return slot
}

// take empties a slot.
func (s *timerSlots) take(slot uint32) *Timer {
	t := s.timers[slot]
	s.timers[slot] = nil
	s.free = append(s.free, slot)
	return t
}

// expiry is what a trace has of a timer.
type expiry struct{ *Timer }

// Fire lets the timer's target act.
func (x expiry) Fire(_, _ uint64) { x.to.Fire(x.a, x.b) }

// timerEntry, set in the slot of an entry, marks an event that may be void.
const timerEntry = 1 << 31

// expire lets a timer's target act, if that is what its entry stands for, which has been taken from
// the queue. One that was left behind by a Reset to an earlier time is void, and so is one of a timer that
// was stopped. For a timer that was moved away another entry is queued.
func (l *Loop) expire(e entry) {
	t := l.timers.take(e.slot &^ timerEntry)
	if t.queued && t.next.key == e.key {
		t.queued = false
	}
	if !t.set || t.queued {
		return
	}
	if t.due.key != e.key {
		t.push()
		return
	}
	t.set = false
	l.now = max(l.now, e.at)
	l.fired++
	if l.trace != nil {
		l.traced(l.trace.event(l.now, &event{expiry{t}, t.a, t.b}))
	}
	t.to.Fire(t.a, t.b)
}
