package vtime_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// serve is the oracle: it steps through time, and gives each server that is free
// the customer who has waited longest.
func serve(servers int, at, d []vtime.Time) (start []vtime.Time) {
	busy := make([]vtime.Time, servers)
	for now := vtime.Time(0); len(start) < len(at); now++ {
		for next := len(start); next < len(at) && at[next] <= now && slices.Min(busy) <= now; next = len(start) {
			i := slices.Index(busy, slices.Min(busy))
			start = append(start, now)
			busy[i] = now + d[next]
		}
	}
	return start
}

func TestResourceOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		servers := 1 + random.IntN(3)
		var at, d []vtime.Time
		now, busy := vtime.Time(0), vtime.Time(0)
		for range 40 {
			now += vtime.Time(random.IntN(8))
			at, d = append(at, now), append(d, vtime.Time(random.IntN(15)))
		}
		k := vtime.New(1)
		r := k.NewResource("bus", servers)
		var longest, waited vtime.Time
		for i, want := range serve(servers, at, d) {
			start, end := r.Use(at[i], d[i])
			if start != want || end != start+d[i] {
				t.Fatalf("seed %d, %d servers, use %d: %v to %v, want it from %v", seed, servers, i, start, end, want)
			}
			busy += d[i]
			waited += start - at[i]
			longest = max(longest, start-at[i])
		}
		if got, want := r.Usage(), (vtime.Usage{"bus", servers, 40, busy, waited, longest}); got != want {
			t.Fatalf("seed %d: usage %v, want %v", seed, got, want)
		}
	}
}

func TestResourceMisuse(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	r := k.NewResource("link 3", 1)
	r.Use(10, 5)
	mustPanic(t, `resource "link 3" used at 9ps after a use at 10ps`, func() { r.Use(9, 1) })
	mustPanic(t, "negative", func() { r.Use(10, -1) })
	mustPanic(t, "at least 1", func() { k.NewResource("none", 0) })
	if r.Free() != 15 {
		t.Errorf("free at %v, want 15ps", r.Free())
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	a, b, c := k.NewResource("a", 1), k.NewResource("b", 2), k.NewResource("c", 1)
	a.Use(0, 10*vtime.Nanosecond)
	b.Use(0, 30*vtime.Nanosecond)
	c.Use(0, 15*vtime.Nanosecond)
	c.Use(5*vtime.Nanosecond, 5*vtime.Nanosecond)
	k.CountUsage(func() []vtime.Usage {
		return []vtime.Usage{
			{Name: "d", Servers: 1, Uses: 4, Busy: 15 * vtime.Nanosecond, Waited: 4 * vtime.Nanosecond, Longest: 2 * vtime.Nanosecond},
			{Name: "e", Servers: 1},
		}
	})
	var text strings.Builder
	if err := vtime.WriteUsage(&text, k.Usage(), 40*vtime.Nanosecond, 3); err != nil {
		t.Fatal(err)
	}
	want := "RESOURCE  USES  BUSY    MEAN WAIT  LONGEST\n" +
		"c         2     50.0 %  5ns        10ns\n" +
		"b         1     37.5 %  0s         0s\n" +
		"d         4     37.5 %  1ns        2ns\n" +
		"and 2 more\n"
	if text.String() != want {
		t.Errorf("report:\n%swant:\n%s", text.String(), want)
	}
}
