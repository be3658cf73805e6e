package vtime_test

import (
	"math"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func TestTimeString(t *testing.T) {
	for _, c := range []struct {
		t    vtime.Time
		want string
	}{
		{0, "0s"},
		{vtime.Picosecond, "1ps"},
		{999, "999ps"},
		{vtime.Nanosecond, "1ns"},
		{1001, "1.001ns"},
		{1500 * vtime.Nanosecond, "1.5µs"},
		{-1500 * vtime.Nanosecond, "-1.5µs"},
		{vtime.Millisecond + vtime.Picosecond, "1.000000001ms"},
		{vtime.Second - 1, "999.999999999ms"},
		{90 * vtime.Second, "90s"},
		{vtime.Second + 20*vtime.Millisecond, "1.02s"},
		{math.MaxInt64, "9223372.036854775807s"},
		{math.MinInt64, "-9223372.036854775808s"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("Time(%d).String() = %q, want %q", int64(c.t), got, c.want)
		}
	}
}

func TestTimeDuration(t *testing.T) {
	for _, c := range []struct {
		t    vtime.Time
		want time.Duration
	}{
		{0, 0}, {499, 0}, {500, 1}, {1499, 1}, {-499, 0}, {-500, -1}, {-1500, -2},
		{vtime.Second, time.Second},
		{math.MaxInt64, 9223372036854776},
	} {
		if got := c.t.Duration(); got != c.want {
			t.Errorf("Time(%d).Duration() = %d, want %d", int64(c.t), got, c.want)
		}
	}
}

func TestTimePlus(t *testing.T) {
	for _, c := range []struct{ t, d, want vtime.Time }{
		{2, 3, 5},
		{math.MaxInt64 - 3, 3, math.MaxInt64},
		{math.MaxInt64 - 2, 3, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		if got := c.t.Plus(c.d); got != c.want {
			t.Errorf("Time(%d).Plus(%d) = %d, want %d", int64(c.t), int64(c.d), int64(got), int64(c.want))
		}
	}
}

func TestFromDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want vtime.Time
	}{
		{0, 0}, {time.Nanosecond, vtime.Nanosecond}, {-3 * time.Second, -3 * vtime.Second},
		{106 * 24 * time.Hour, 106 * 24 * 3600 * vtime.Second},
		{107 * 24 * time.Hour, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
		{math.MinInt64, -math.MaxInt64},
	} {
		if got := vtime.FromDuration(c.d); got != c.want {
			t.Errorf("FromDuration(%v) = %d, want %d", c.d, int64(got), int64(c.want))
		}
	}
}
