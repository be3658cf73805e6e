package matching

// none is the number of no entry of a slab.
const none = ^uint32(0)

// slab holds entries by number, each of which may be in one list.
type slab[T any] struct {
	entries []entry[T]
	free    []uint32
}

type entry[T any] struct {
	v    T
	next uint32
	used bool
}

// list is a list of a slab's entries; none and none is the empty one.
type list struct{ first, last uint32 }

func (s *slab[T]) take() uint32 {
	n := uint32(len(s.entries))
	if k := len(s.free); k > 0 {
		n, s.free = s.free[k-1], s.free[:k-1]
	} else {
		s.entries = append(s.entries, entry[T]{})
	}
	s.entries[n].used = true
	return n
}

func (s *slab[T]) put(n uint32) {
	s.entries[n].used = false
	s.free = append(s.free, n)
}

func (s *slab[T]) at(n uint32) *T       { return &s.entries[n].v }
func (s *slab[T]) next(n uint32) uint32 { return s.entries[n].next }
func (s *slab[T]) valid(number uint32) bool {
	return int(number) < len(s.entries) && s.entries[number].used
}

// append puts entry n at the end of the list.
func (s *slab[T]) append(l *list, n uint32) {
	s.entries[n].next = none
	if l.last == none {
		l.first = n
	} else {
		s.entries[l.last].next = n
	}
	l.last = n
}

// cut takes entry n, which follows prev, out of the list.
func (s *slab[T]) cut(l *list, prev, n uint32) {
	next := s.entries[n].next
	if prev == none {
		l.first = next
	} else {
		s.entries[prev].next = next
	}
	if l.last == n {
		l.last = prev
	}
}
