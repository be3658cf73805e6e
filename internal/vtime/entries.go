package vtime

import (
	"math/bits"
	"slices"
)

// entry is one element of the queue: something that happens at a time. It
// holds no pointer, so that moving one is a plain copy; an event's receiver and
// words lie in a slot of the loop's table.
type entry struct {
	at   Time   // never negative
	key  uint64 // order among entries of one time
	slot uint32 // of an event; unused in a wake-up
}

// wakeup, set in a key, marks a proc's wake-up; the other bits are then the
// proc's number. Without it the key counts the events as they were scheduled.
// So at one time events come before wake-ups, events in the order in which
// they were scheduled, and procs by number.
const wakeup = 1 << 63

// before returns 1 if x comes before y, by time, then by key, and otherwise 0.
// It is the borrow of a 128-bit subtraction: the processor could not guess the
// outcome of a branch here, which is most of the cost of a heap.
func (x *entry) before(y *entry) uint64 {
	_, borrow := bits.Sub64(x.key, y.key, 0)
	_, borrow = bits.Sub64(uint64(x.at), uint64(y.at), borrow)
	return borrow
}

// order compares entries for package slices.
func order(x, y entry) int { return int(y.before(&x)) - int(x.before(&y)) }

// entryQueue holds entries in three parts, so that each is moved but a few times,
// however many there are. What comes first is sorted, in a run that is read from
// its head on. Later entries wait in buckets of times, in the order in which they
// came; when the run has been read, the first bucket becomes the next one. What
// is pushed for a time that the run reaches goes to a heap beside it. The zero
// value is empty.
type entryQueue struct {
	run   []entry // sorted
	other []entry // memory to sort the run in, and to spread entries by
	head  int     // of the part of the run that has not been read
	near  heap    // entries of times up to last, beside the run
	last  Time    // the run's
	far   buckets // entries of times after last
	n     int     // entries in all
}

// few is how many entries are sorted without dividing them before.
const few = 16

func (q *entryQueue) push(e entry) {
	q.n++
	switch {
	case q.n == 1:
		q.run, q.head, q.last = append(q.run[:0], e), 0, e.at
	case e.at > q.last:
		q.far.add(e, q.last)
	default:
		q.near.push(e)
		if len(q.near) > few && len(q.near) > q.n/2 {
			q.spread()
		}
	}
}

// first returns the first entry of a queue that is not empty, and whether it is
// the run's. It is valid until the next call.
func (q *entryQueue) first() (e *entry, ofRun bool) {
	if q.head == len(q.run) {
		if len(q.near) > 0 {
			return &q.near[0], false
		}
		q.refill()
	}
	e = &q.run[q.head]
	if len(q.near) > 0 && q.near[0].before(e) != 0 {
		return &q.near[0], false
	}
	return e, true
}

// pop removes and returns the first entry of a queue that is not empty.
func (q *entryQueue) pop() entry {
	e, _ := q.popUntil(end)
	return e
}

// popUntil is pop if the first entry is due until t; else it reports false.
func (q *entryQueue) popUntil(t Time) (e entry, due bool) {
	ofRun := true
	var first *entry
	if q.head < len(q.run) && len(q.near) == 0 { // mostly, and without a call
		first = &q.run[q.head]
	} else {
		first, ofRun = q.first()
	}
	if first.at > t {
		return entry{}, false
	}
	q.n--
	if ofRun {
		q.head++
		return *first, true
	}
	return q.near.pop(), true
}

// narrow is up to which level a bucket of two ascending sequences becomes a run, in one pass: mostly they are
// what ranks, by their numbers, do at one time, and the last rank's neighbour is the first. Its times
// are less than 262 ns apart, so that not much is pushed for times that the run reaches.
const narrow = 3

// refill makes a run of the first bucket. One that is large and in no order is
// divided before, until its first part is small or has but one time.
func (q *entryQueue) refill() {
	for {
		level, b := q.far.take()
		if b.disorder > 0 && b.n > few && level > 0 && (b.disorder > 1 || level > narrow) {
			q.far.divide(b, b.first.entries[0].at>>(level*digit)<<(level*digit))
			continue
		}
		q.run, q.head = q.far.empty(b, q.run[:0]), 0
		switch {
		case b.disorder == 0:
		case b.n <= few:
			insertionSort(q.run)
		default:
			q.merge()
		}
		q.last = q.run[b.n-1].at
		return
	}
}

// spread puts all entries into buckets. It is called when most are in the heap,
// because the run was made when there were only few, and reaches far.
func (q *entryQueue) spread() {
	all := append(append(q.other[:0], q.run[q.head:]...), q.near...)
	for q.far.levels != 0 {
		_, b := q.far.take()
		all = q.far.empty(b, all)
	}
	q.run, q.head, q.near = q.run[:0], 0, q.near[:0]
	q.last = slices.MinFunc(all, order).at - 1
	for _, e := range all {
		q.far.add(e, q.last)
	}
	q.other = all[:0]
}

// merge sorts the run, which is mostly a few ascending sequences, one after the other: wake-ups
// that events of one time have caused, by the number of their sender. Each pass merges neighbours.
func (q *entryQueue) merge() {
	for sequences := 2; sequences > 1; q.run, q.other = q.other, q.run[:0] {
		sequences = 0
		for rest := q.run; len(rest) > 0; sequences++ {
			var x, y []entry
			x, rest = ascending(rest)
			y, rest = ascending(rest)
			q.other = appendMerged(q.other, x, y)
		}
	}
}

// ascending cuts the sorted sequence off that b begins with.
func ascending(b []entry) (first, rest []entry) {
	n := min(1, len(b))
	for n < len(b) && b[n].before(&b[n-1]) == 0 {
		n++
	}
	return b[:n], b[n:]
}

// appendMerged appends two sorted sequences in order.
func appendMerged(to, x, y []entry) []entry {
	for len(x) > 0 && len(y) > 0 {
		if y[0].before(&x[0]) != 0 {
			to, y = append(to, y[0]), y[1:]
		} else {
			to, x = append(to, x[0]), x[1:]
		}
	}
	return append(append(to, x...), y...)
}

func insertionSort(b []entry) {
	for i := 1; i < len(b); i++ {
		e := b[i]
		j := i
		for ; j > 0 && e.before(&b[j-1]) != 0; j-- {
			b[j] = b[j-1]
		}
		b[j] = e
	}
}
