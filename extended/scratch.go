package extended

// scratch is the shared memory of collective calls: what a rank's segment has beyond the
// client's part. Peers read it, only the owner writes it. It is given out in the order in
// which calls asked, so that a large one is not overtaken for ever.
type scratch struct {
	used    []extent // by offset
	asked   uint32   // tickets given out
	served  uint32   // tickets served
	waiting []*Team
}

// extent is a piece of scratch memory; off counts from its beginning.
type extent struct{ off, n int }

// scratchAlign keeps the pieces of different calls on different cache lines, prefetched
// pairs included.
const scratchAlign = 128

// ticket asks for memory; take gives it out.
func (s *scratch) ticket() uint32 {
	s.asked++
	return s.asked - 1
}

// take returns n bytes for the holder of the ticket; false if others come first or there is
// no room: the team will be engaged when that changes.
func (s *scratch) take(t *Team, ticket uint32, n int) (extent, bool) {
	n = (n + scratchAlign - 1) &^ (scratchAlign - 1)
	at, i := 0, 0
	for ; ticket == s.served && i < len(s.used) && s.used[i].off-at < n; i++ {
		at = s.used[i].off + s.used[i].n
	}
	if ticket != s.served || at+n > auxiliary {
		s.waiting = append(s.waiting, t)
		return extent{}, false
	}
	s.used = append(s.used, extent{})
	copy(s.used[i+1:], s.used[i:])
	s.used[i] = extent{at, n}
	s.served++
	s.wake()
	return s.used[i], true
}

// give takes a piece back.
func (s *scratch) give(e extent) {
	for i, u := range s.used {
		if u == e {
			s.used = append(s.used[:i], s.used[i+1:]...)
			s.wake()
			return
		}
	}
}

// wake engages the teams that wait for memory.
func (s *scratch) wake() {
	for i, t := range s.waiting {
		t.ep.engage(t)
		s.waiting[i] = nil
	}
	s.waiting = s.waiting[:0]
}
