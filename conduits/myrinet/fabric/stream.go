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
	stretch           // the last one that is known, without bytes if none is; nothing is known of byte end
	before  []stretch // those before it, in order
}

// count returns the number of the first byte that has not passed at t.
func (s *stream) count(t vtime.Time) int64 {
	if t >= s.at {
		return s.stretch.count(t)
	}
	return s.countBefore(t)
}

// countBefore is count at a time before the last stretch.
func (s *stream) countBefore(t vtime.Time) int64 {
	first := s.first
	for i := len(s.before) - 1; i >= 0; i-- {
		k := &s.before[i]
		if k.at <= t {
			return k.count(t)
		}
		first = k.first
	}
	return first
}

// index returns the index of the stretch that byte n is in, which must not be beyond the known ones; -1 for a byte before them.
func (s *stream) index(n int64) int {
	i := len(s.before)
	for i >= 0 && n < s.nth(i).first {
		i--
	}
	return i
}

// nth returns the stretch of an index, which is len(s.before) for the last one.
func (s *stream) nth(i int) *stretch {
	if i == len(s.before) {
		return &s.stretch
	}
	return &s.before[i]
}

// when returns when byte n passes, and never if that is not known. A byte that has been forgotten passed at time 0.
func (s *stream) when(n int64) vtime.Time {
	if n >= s.end {
		return never
	}
	return s.past(n)
}

// past is when of a byte that is known.
func (s *stream) past(n int64) vtime.Time {
	if n >= s.first {
		return s.time(n)
	}
	return s.pastBefore(n)
}

// pastBefore is past of a byte before the last stretch.
func (s *stream) pastBefore(n int64) vtime.Time {
	if i := s.index(n); i >= 0 {
		return s.before[i].time(n)
	}
	return 0
}

// none is a stretch without bytes before byte n.
func none(n int64) stretch { return stretch{first: n, end: n} }

// cut takes back all bytes from n on.
func (s *stream) cut(n int64) {
	end := min(s.end, n)
	for s.first >= n {
		last := len(s.before) - 1
		if last < 0 {
			s.stretch = none(end)
			return
		}
		s.stretch, s.before = s.before[last], s.before[:last]
	}
	s.end = end
}

// forget drops stretches that ended before t.
func (s *stream) forget(t vtime.Time) {
	n := 0
	for n < len(s.before) && s.before[n].last() < t {
		n++
	}
	if n > 0 {
		s.before = s.before[:copy(s.before, s.before[n:])]
	}
	if len(s.before) == 0 && s.last() < t {
		s.stretch = none(s.end)
	}
}

// add appends bytes, from s.end to end, the first at a time and each of the others a step later.
func (s *stream) add(at, step vtime.Time, end int64) {
	first := s.end
	if s.first < first {
		switch {
		case s.step == step && s.time(first) == at:
			s.end = end
			return
		case first == s.first+1 && at-s.at == step: // one byte has no step of its own
			s.step, s.end = step, end
			return
		case end == first+1 && s.time(first) == at:
			s.end = end
			return
		}
		s.before = append(s.before, s.stretch)
	}
	s.stretch = stretch{at, step, first, end}
}

// copyTo appends all stretches to a slice.
func (s *stream) copyTo(to []stretch) []stretch { return append(append(to, s.before...), s.stretch) }

// continues reports whether a stream has all the bytes that it had when copyTo returned these, at the same times.
func (s *stream) continues(old []stretch) bool {
	last := len(old) - 1
	if len(s.before) < last {
		return false
	}
	for i := range old {
		k, b := s.nth(i), &old[i]
		if k.at != b.at || k.first != b.first || k.end != b.end && (i < last || k.end < b.end) || k.step != b.step && b.end > b.first+1 {
			return false
		}
	}
	return true
}
