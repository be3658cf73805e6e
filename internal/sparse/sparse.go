// Package sparse has tables of what a rank keeps about each of its peers. In a small job
// they are arrays. In a large job a rank talks to few of its peers, so what it keeps about
// a peer is made when it is first asked for. So n ranks in one process take memory for the
// pairs that communicate, not for all n².
package sparse

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// dense is the size up to which a table is an array.
const dense = 1 << 8

// Table has a T for each of the integers 0 ≤ i < n, zero at first. An element stays where it
// is. The zero value is a table that never is an array; it must not be copied once used.
//
// Any goroutines may call the methods at the same time. What they do with the elements is
// their own business.
type Table[T any] struct {
	array []T
	hash  atomic.Pointer[hash[T]]
	mu    sync.Mutex // who adds
	used  int
}

// hash is a table with open addressing. Its size is a power of two, and at most half of it
// is used.
type hash[T any] struct {
	shift uint // 64 less the binary logarithm of the size
	slots []atomic.Pointer[element[T]]
}

type element[T any] struct {
	key   int
	value T
}

// Init prepares the table for the integers below n. It is called before anything else, if at
// all.
func (t *Table[T]) Init(n int) {
	if n <= dense {
		t.array = make([]T, n)
	}
}

// At returns the element of i.
func (t *Table[T]) At(i int) *T {
	if uint(i) < uint(len(t.array)) {
		return &t.array[i]
	}
	return t.at(i)
}

func (t *Table[T]) at(i int) *T {
	if v := t.find(i); v != nil {
		return v
	}
	return t.add(i)
}

// Find returns the element of i, or nil if nobody has asked for it by At.
func (t *Table[T]) Find(i int) *T {
	if uint(i) < uint(len(t.array)) {
		return &t.array[i]
	}
	return t.find(i)
}

func (t *Table[T]) find(i int) *T {
	h := t.hash.Load()
	if h == nil {
		return nil
	}
	e := h.slot(i).Load()
	if e == nil {
		return nil
	}
	return &e.value
}

// slot returns the place of i: its own, or the free one where it goes.
func (h *hash[T]) slot(i int) *atomic.Pointer[element[T]] {
	const golden = 0x9e3779b97f4a7c15 // 2⁶⁴ by the golden ratio: neighbours go far apart
	mask := uint(len(h.slots) - 1)
	for at := uint(uint64(i) * golden >> h.shift); ; at++ {
		s := &h.slots[at&mask]
		if e := s.Load(); e == nil || e.key == i {
			return s
		}
	}
}

// add makes the element of i, unless somebody else has done so meanwhile.
func (t *Table[T]) add(i int) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.find(i); v != nil {
		return v
	}
	h := t.hash.Load()
	if h == nil || 2*(t.used+1) > len(h.slots) {
		h = h.grown()
		t.hash.Store(h)
	}
	e := &element[T]{key: i}
	h.slot(i).Store(e)
	t.used++
	return &e.value
}

// leastSlots is the size of the first hash.
const leastSlots = 8

// grown returns a hash with the same elements and twice as many places.
func (h *hash[T]) grown() *hash[T] {
	n := leastSlots
	if h != nil {
		n = 2 * len(h.slots)
	}
	next := &hash[T]{shift: uint(64 - bits.TrailingZeros(uint(n))), slots: make([]atomic.Pointer[element[T]], n)}
	if h != nil {
		for k := range h.slots {
			if e := h.slots[k].Load(); e != nil {
				next.slot(e.key).Store(e)
			}
		}
	}
	return next
}
