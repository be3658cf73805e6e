// Package fifo has queues, first in, first out, for whatever waits in memory of one goroutine: packets,
// arrivals, requests.
package fifo

// Queue is first in, first out, in a ring that grows to what it once held, and is kept. The zero value
// is empty. One goroutine at a time may use it.
type Queue[T any] struct {
	ring []T // of a power of two
	head int
	n    int
}

// Len returns how many elements wait.
func (q *Queue[T]) Len() int { return q.n }

// At returns the i-th element from the front, which must be there; it stays where it is until the next
// Push or Add.
func (q *Queue[T]) At(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// Push appends v.
func (q *Queue[T]) Push(v T) { *q.Add() = v }

// Add appends a zero element, to be filled in where it is: that takes less than half the time of
// copying what has just been written field by field. It stays there until the next Push or Add.
func (q *Queue[T]) Add() *T {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.n++
	return q.At(q.n - 1)
}

func (q *Queue[T]) grow() {
	ring := make([]T, max(4, 2*q.n))
	for i := range q.n {
		ring[i] = *q.At(i)
	}
	q.ring, q.head = ring, 0
}

// Pop removes the first element and returns it; it reports false if there is none.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if q.n == 0 {
		return v, false
	}
	v = *q.At(0)
	q.Drop()
	return v, true
}

// Drop removes the first element, which must be there.
func (q *Queue[T]) Drop() {
	var none T
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}
