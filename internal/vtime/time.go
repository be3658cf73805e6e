package vtime

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Time is a point in virtual time, counted from the start of the run, or a
// span of it: picoseconds in an int64, so that it holds 106 days.
type Time int64

// Common spans.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// end is the last point in virtual time.
const end Time = math.MaxInt64

// Plus returns the time d after t, or the last one there is if that is earlier: for times
// to wait until, which may be meant as never. d must not be negative.
func (t Time) Plus(d Time) Time {
	if d > end-t {
		return end
	}
	return t + d
}

// String returns t exactly, in the largest unit that it reaches: "1.5µs".
func (t Time) String() string {
	if t < 0 {
		// As uint64, because -math.MinInt64 is no Time.
		return "-" + format(-uint64(t))
	}
	return format(uint64(t))
}

func format(ps uint64) string {
	unit, digits, name := Second, 12, "s"
	switch {
	case ps == 0:
		return "0s"
	case ps < uint64(Nanosecond):
		unit, digits, name = Picosecond, 0, "ps"
	case ps < uint64(Microsecond):
		unit, digits, name = Nanosecond, 3, "ns"
	case ps < uint64(Millisecond):
		unit, digits, name = Microsecond, 6, "µs"
	case ps < uint64(Second):
		unit, digits, name = Millisecond, 9, "ms"
	}
	text := strconv.FormatUint(ps/uint64(unit), 10)
	if rest := ps % uint64(unit); rest != 0 {
		fraction := strconv.FormatUint(rest, 10)
		fraction = strings.Repeat("0", digits-len(fraction)) + fraction
		text += "." + strings.TrimRight(fraction, "0")
	}
	return text + name
}

// Duration returns t rounded to the nearest nanosecond, halves away from zero.
func (t Time) Duration() time.Duration {
	ns, rest := t/Nanosecond, t%Nanosecond
	switch {
	case rest >= Nanosecond/2:
		ns++
	case rest <= -Nanosecond/2:
		ns--
	}
	return time.Duration(ns)
}

// FromDuration returns d as a Time. Beyond the 106 days that a Time holds, it
// returns the longest one.
func FromDuration(d time.Duration) Time {
	const most = time.Duration(math.MaxInt64 / Nanosecond)
	switch {
	case d > most:
		return end
	case d < -most:
		return -end
	}
	return Time(d) * Nanosecond
}
