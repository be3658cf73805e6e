package vtime

import "math/bits"

// entry is one element of the queue: something that happens at a time. It
// holds no pointer, so that moving one is a plain copy; an event's receiver and
// words lie in a slot of the kernel's table.
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

// queue is a 4-ary min-heap: the children of i are 4i+1 to 4i+4. It is half as
// deep as a binary heap, and the children to compare lie side by side.
type queue []entry

const arity = 4

func (q *queue) push(e entry) {
	*q = append(*q, e)
	h := *q
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / arity
		if e.before(&h[parent]) == 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// pop removes and returns the first entry of a queue that is not empty.
func (q *queue) pop() entry {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := arity*i + 1
		if child >= len(h) {
			break
		}
		child += leastOf(h[child:])
		if h[child].before(&last) == 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}

// leastOf returns which of up to four siblings at the start of h comes first.
func leastOf(h []entry) int {
	if len(h) >= arity {
		c := (*[arity]entry)(h)
		a := c[1].before(&c[0])     // 0 or 1
		b := 2 | c[3].before(&c[2]) // 2 or 3
		return int(a ^ (a^b)&-c[b].before(&c[a]))
	}
	least := 0
	for i := range h {
		if h[i].before(&h[least]) != 0 {
			least = i
		}
	}
	return least
}
