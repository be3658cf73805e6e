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

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(4, 2*q.n))
		for i := range q.n {
			ring[i] = *q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.n++
	*q.at(q.n - 1) = v
}

// pop removes the first element; there must be one.
func (q *queue[T]) pop() T {
	v := *q.at(0)
	clear(q.ring[q.head : q.head+1])
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v
}
