package vtime

// Timer calls a Target once, at a time that can be moved and called off: a
// retransmission timer, a link that falls idle. It is in the order of events
// what a call of At would be, made by its last Reset. What was called off does
// not happen at all: it takes no time, is in no trace and ends no wait.
//
// Reset and Stop take effect when they are called. A proc that is ahead of the
// kernel calls Sync before, or it would stop what should already have happened.
type Timer struct {
	loop *Loop
	to   Target
	a, b uint64

	set    bool  // it is to fire, as due says
	queued bool  // an entry of the queue stands for it: next
	due    entry // when, and in which order among events of that time
	next   entry // not after due
}

// NewTimer returns a timer that will call to.Fire(a, b), not set yet.
func (l *Loop) NewTimer(to Target, a, b uint64) *Timer {
	return &Timer{loop: l, to: to, a: a, b: b}
}

// Reset sets t to fire at the given time, instead of when it was set for. A time that has passed is
// what it is for At, which also says when Reset allocates. A timer may be set
// again in its own Fire.
func (t *Timer) Reset(at Time) {
	if at < t.loop.now {
		at = t.loop.late("timer", t.to, at)
	}
	t.set, t.due = true, entry{at: at, key: t.loop.queue.next()}
	// Most timers are moved away again and again. The entry that is queued then
	// stays where it is, and is moved when it comes to the front.
	if !t.queued || t.due.before(&t.next) != 0 {
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
	q := &t.loop.queue
	slot := q.slot()
	q.values[slot].to = expiry{t}
	t.due.slot = timerEntry | slot
	t.queued, t.next = true, t.due
	q.entries.push(t.due)
}

// expiry is what the queue has of a timer. It is a Target so that it fits an event.
type expiry struct{ *Timer }

// Fire lets the timer's target act.
func (x expiry) Fire(_, _ uint64) { x.to.Fire(x.a, x.b) }

// timerEntry, set in the slot of an entry, marks an event that may be void.
const timerEntry = 1 << 31

// expire lets a timer's target act, if that is what its entry stands for, which has been taken from
// the queue. One that was left behind by a Reset to an earlier time is void, and so is one of a timer that
// was stopped. For a timer that was moved away another entry is queued.
func (l *Loop) expire(e entry) {
	slot := e.slot &^ timerEntry
	ev := &l.queue.values[slot]
	t := ev.to.(expiry).Timer
	ev.to = nil
	l.queue.free = append(l.queue.free, slot)
	if t.queued && t.next == e {
		t.queued = false
	}
	if !t.set || t.queued {
		return
	}
	if t.due.key != e.key { // no two entries have one key
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
