package fabric

import (
	"math"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// never is the time of what does not happen as far as is known. It is a quarter of an hour before the end of virtual time, so
// that delays may be added to it.
const never = vtime.Time(math.MaxInt64 - 1<<50)

// stretch is a number of bytes that pass a point one step after the other.
type stretch struct {
	at, step   vtime.Time
	first, end int64 // numbers of the bytes; without end
}

// time returns when byte n passes.
func (s *stretch) time(n int64) vtime.Time { return s.at + vtime.Time(n-s.first)*s.step }

// last returns when the last byte passes.
func (s *stretch) last() vtime.Time { return s.time(s.end - 1) }

// count returns the number of the first byte that passes after t.
func (s *stretch) count(t vtime.Time) int64 {
	switch {
	case t < s.at:
		return s.first
	case s.step == 0 || t >= s.last():
		return s.end
	}
	return s.first + int64((t-s.at)/s.step) + 1
}

// stream is what passes a point: bytes that have passed it, and those that will as far as is known. Bytes are
// numbered from 0 for as long as the point exists. Stretches long past are forgotten; their bytes count as
// passed at any time that is asked about.
type stream struct {
	known []stretch // in order
	next  int64     // number of the first byte of which nothing is known
}

// count returns the number of the first byte that has not passed at t.
func (s *stream) count(t vtime.Time) int64 {
	for i := len(s.known) - 1; i >= 0; i-- {
		if k := &s.known[i]; k.at <= t {
			return k.count(t)
		}
	}
	if len(s.known) > 0 {
		return s.known[0].first
	}
	return s.next
}

// find returns the index of the stretch that byte n is in, which must not be before the known ones nor beyond
// them; -1 for a byte before them.
func (s *stream) find(n int64) int {
	for i := len(s.known) - 1; i >= 0; i-- {
		if n >= s.known[i].first {
			return i
		}
	}
	return -1
}

// when returns when byte n passes, and never if that is not known. A byte that has been forgotten passed at time 0.
func (s *stream) when(n int64) vtime.Time {
	if n >= s.next {
		return never
	}
	return s.past(n)
}

// past is when of a byte that is known.
func (s *stream) past(n int64) vtime.Time {
	if i := s.find(n); i >= 0 {
		return s.known[i].time(n)
	}
	return 0
}

// cut takes back all bytes from n on.
func (s *stream) cut(n int64) {
	for len(s.known) > 0 {
		k := &s.known[len(s.known)-1]
		if k.first < n {
			k.end = min(k.end, n)
			break
		}
		s.known = s.known[:len(s.known)-1]
	}
	s.next = min(s.next, n)
}

// forget drops stretches that ended before t.
func (s *stream) forget(t vtime.Time) {
	n := 0
	for n < len(s.known) && s.known[n].last() < t {
		n++
	}
	if n > 0 {
		s.known = s.known[:copy(s.known, s.known[n:])]
	}
}

// add appends bytes, from s.next to end, the first at a time and each of the others a step later.
func (s *stream) add(at, step vtime.Time, end int64) {
	first := s.next
	s.next = end
	if len(s.known) > 0 {
		switch k := &s.known[len(s.known)-1]; {
		case k.step == step && k.time(first) == at:
			k.end = end
			return
		case k.end == k.first+1 && at-k.at == step: // one byte has no step of its own
			k.step, k.end = step, end
			return
		case end == first+1 && k.time(first) == at:
			k.end = end
			return
		}
	}
	s.known = append(s.known, stretch{at, step, first, end})
}

// continues reports whether a stream has all the bytes that it had when these stretches were known, at the same times.
func (s *stream) continues(before []stretch) bool {
	last := len(before) - 1
	if len(s.known) <= last {
		return false
	}
	for i := range before {
		k, b := &s.known[i], &before[i]
		if k.at != b.at || k.first != b.first || k.end != b.end && (i < last || k.end < b.end) || k.step != b.step && b.end > b.first+1 {
			return false
		}
	}
	return true
}
