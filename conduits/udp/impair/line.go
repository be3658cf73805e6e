package impair

import (
	"math"
	"time"
)

// line sends one datagram after the other at a rate, and lets a number of them wait.
type line struct {
	ends []time.Duration // when those that wait or are being sent have left, ascending
	last time.Duration   // when the latest leaves
}

// send returns when a datagram of so many bytes will have left, or false if the queue is
// full. Times are rounded up to nanoseconds, so the rate is never exceeded.
func (l *line) send(now time.Duration, bytes int, s *Settings) (time.Duration, bool) {
	if s.Rate == 0 {
		return now, true
	}
	gone := 0
	for gone < len(l.ends) && l.ends[gone] <= now {
		gone++
	}
	l.ends = l.ends[gone:]
	if len(l.ends) >= s.queue() {
		return 0, false
	}
	takes := time.Duration(math.Ceil(float64(bytes) * 8e9 / s.Rate))
	l.last = max(l.last, now) + takes
	l.ends = append(l.ends, l.last)
	return l.last, true
}
