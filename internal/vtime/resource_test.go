package vtime_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// serve is the oracle: it steps through time, and begins with whoever has waited
// longest when nobody is served.
func serve(at, d []vtime.Time) (end []vtime.Time) {
	free := vtime.Time(0)
	for now := vtime.Time(0); len(end) < len(at); now++ {
		for next := len(end); next < len(at) && at[next] <= now && free <= now; next = len(end) {
			free = now + d[next]
			end = append(end, free)
		}
	}
	return end
}

func TestResourceOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var at, d []vtime.Time
		now := vtime.Time(0)
		for range 40 {
			now += vtime.Time(random.IntN(8))
			at, d = append(at, now), append(d, vtime.Time(random.IntN(15)))
		}
		var r vtime.Resource
		if r.Used() {
			t.Fatal("an idle resource was used")
		}
		var longest, waited, busy vtime.Time
		for i, want := range serve(at, d) {
			if end := r.Use(at[i], d[i]); end != want {
				t.Fatalf("seed %d, use %d: until %v, want %v", seed, i, end, want)
			}
			wait := want - d[i] - at[i]
			busy, waited, longest = busy+d[i], waited+wait, max(longest, wait)
		}
		if got, want := r.Usage("bus"), (vtime.Usage{"bus", 40, busy, waited, longest}); got != want || !r.Used() || r.Busy() != busy {
			t.Fatalf("seed %d: usage %v, want %v", seed, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	var a, b, c vtime.Resource
	a.Use(0, 10*vtime.Nanosecond)
	b.Use(0, 30*vtime.Nanosecond)
	c.Use(0, 15*vtime.Nanosecond)
	c.Use(5*vtime.Nanosecond, 5*vtime.Nanosecond)
	k.CountUsage(func() []vtime.Usage { return []vtime.Usage{a.Usage("a"), b.Usage("b")} })
	k.CountUsage(func() []vtime.Usage {
		return []vtime.Usage{c.Usage("c"), {Name: "d", Uses: 4, Busy: 20 * vtime.Nanosecond}}
	})
	want := []vtime.Usage{
		{Name: "b", Uses: 1, Busy: 30 * vtime.Nanosecond},
		{Name: "c", Uses: 2, Busy: 20 * vtime.Nanosecond, Waited: 10 * vtime.Nanosecond, Longest: 10 * vtime.Nanosecond},
		{Name: "d", Uses: 4, Busy: 20 * vtime.Nanosecond},
		{Name: "a", Uses: 1, Busy: 10 * vtime.Nanosecond},
	}
	if got := k.Usage(); !slices.Equal(got, want) {
		t.Errorf("usage %v, want %v", got, want)
	}
}
