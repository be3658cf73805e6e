package vtime

// Queue holds values by the time at which they are due: the earliest first, and those of one time in
// the order in which they were pushed. The zero value is empty. One goroutine at a time may use it.
type Queue[T any] struct {
	entries entryQueue
	pushed  uint64   // entries so far
	values  []T      // what the slots of entries refer to
	free    []uint32 // slots without a value
}

// Len returns how many values the queue holds.
func (q *Queue[T]) Len() int { return q.entries.n }

// Push adds a value that is due at a time, which must not be negative. It allocates only when the
// queue holds more values than ever before.
func (q *Queue[T]) Push(at Time, v T) {
	q.entries.push(entry{at: at, key: q.next(), slot: q.put(v)})
}

// First returns the time of the first value, and the value, which stays where it is until the next
// call of another method; there must be one.
func (q *Queue[T]) First() (at Time, v *T) {
	e, _ := q.entries.first()
	return e.at, &q.values[e.slot]
}

// Pop removes the first value, and returns its time and it; there must be one.
func (q *Queue[T]) Pop() (at Time, v T) {
	e := q.entries.pop()
	return e.at, q.take(e.slot)
}

// next returns the key of the next entry.
func (q *Queue[T]) next() (key uint64) {
	key = q.pushed
	q.pushed++
	return key
}

// put stores a value in a free slot.
func (q *Queue[T]) put(v T) uint32 {
	slot := q.slot()
	q.values[slot] = v
	return slot
}

// slot returns a free slot, whose value is to be set.
func (q *Queue[T]) slot() uint32 {
	last := len(q.free) - 1
	if last < 0 {
		var none T
		q.values = append(q.values, none)
		return uint32(len(q.values) - 1)
	}
	slot := q.free[last]
	q.free = q.free[:last]
	return slot
}

// take empties a slot, so that the queue keeps nothing alive that the value refers to.
func (q *Queue[T]) take(slot uint32) (v T) {
	var none T
	v, q.values[slot] = q.values[slot], none
	q.free = append(q.free, slot)
	return v
}
