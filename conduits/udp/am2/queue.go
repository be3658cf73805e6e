package am2

// queue is first in, first out, in a ring that grows to what it once held. The zero value is
// empty.
type queue[T any] struct {
	ring []T // of a power of two
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

// at returns the i-th element from the front; it stays where it is until the next push.
func (q *queue[T]) at(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue[T]) push(v T) { *q.add() = v }

// add appends a zero element, to be filled in where it is: that takes less than half the time of
// copying what has just been written field by field.
func (q *queue[T]) add() *T {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.n++
	return q.at(q.n - 1)
}

func (q *queue[T]) grow() {
	ring := make([]T, max(4, 2*q.n))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}

// pop removes the first element and returns it; there must be one.
func (q *queue[T]) pop() T {
	v := *q.at(0)
	q.drop()
	return v
}

// drop removes the first element; there must be one.
func (q *queue[T]) drop() {
	var none T
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}
