package cost_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// choice returns an algorithm by its name.
func choice(t *testing.T, text string) coll.Choice {
	t.Helper()
	f, err := coll.ParseForced(text)
	if err != nil || len(f) != 1 {
		t.Fatalf("%q: %v", text, err)
	}
	for _, c := range f {
		return c
	}
	return coll.Choice{}
}

// TestGrowth wants the times that the parameters say, of calls whose ranks all do the same in
// every round, which are also those of the formula.
func TestGrowth(t *testing.T) {
	p := cost.LogGP{Latency: 1000, SendOverhead: 100, RecvOverhead: 200, Scan: 3, ByteGap: 2, Combine: 5}
	ranks := []int{1, 2, 4, 16, 64, 1024, 4096}
	for _, x := range []struct {
		call   coll.Call
		choice string
		a      vtime.Time // of a round
	}{
		{coll.Call{Op: coll.Barrier}, "barrier=dissemination:2", 1000 + 100 + 200},
		{coll.Call{Op: coll.AllReduce, Bytes: 8, Elem: 8, Commutes: true}, "allreduce=doubling", 1000 + 100 + 200 + 8*2 + 8*5},
	} {
		points, err := cost.Growth(x.call, choice(t, x.choice), p, ranks)
		if err != nil {
			t.Fatal(err)
		}
		f := cost.Formula{A: float64(x.a), B: 3, Scan: everyRank}
		for _, pt := range points {
			want := vtime.Time(cost.Rounds(pt.Ranks, 2)) * (x.a + 3*vtime.Time(pt.Ranks))
			if pt.End != want || f.Time(pt.Ranks) != float64(want) {
				t.Errorf("%s of %d ranks takes %v, by the formula %v ps, want %v", x.choice, pt.Ranks, pt.End, f.Time(pt.Ranks), want)
			}
		}
	}
}

// everyRank is the scan of a receiver that looks at one flag of every rank.
func everyRank(ranks int) float64 { return float64(ranks) }

// TestLogGP follows a few messages by hand.
func TestLogGP(t *testing.T) {
	p := cost.LogGP{Latency: 1000, SendOverhead: 10, RecvOverhead: 20, SendGap: 100, RecvGap: 300, ByteGap: 2, Copy: 3}
	m := p.Model(2)
	for _, x := range []struct{ now, bytes, free, arrival int }{
		{0, 50, 10, 1110},   // leaves from 10 to 110, the next one from 210
		{10, 0, 20, 1210},   // the next one from 310
		{500, 1, 510, 1512}, // the interface is idle
	} {
		free, arrival := m.Send(0, 1, x.bytes, vtime.Time(x.now))
		if free != vtime.Time(x.free) || arrival != vtime.Time(x.arrival) {
			t.Errorf("send at %d: free at %d, arrival at %d; want %d and %d", x.now, free, arrival, x.free, x.arrival)
		}
	}
	for _, x := range []struct{ since, arrival, want int }{
		{0, 1110, 1130},
		{1130, 1210, 1430}, // 300 after the first one began
		{5000, 1512, 5020},
	} {
		if got := m.Receive(1, 0, 0, vtime.Time(x.since), vtime.Time(x.arrival)); got != vtime.Time(x.want) {
			t.Errorf("receive from %d, arrival %d: done at %d, want %d", x.since, x.arrival, got, x.want)
		}
	}
	if got := m.Copy(0, 5, 7); got != 22 {
		t.Errorf("copy done at %d", got)
	}
}

// TestDeterministic wants two runs to have the same result, with fewer bytes than a KiB a rank.
func TestDeterministic(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	const n = 1 << 14
	for _, x := range []struct {
		call   coll.Call
		choice string
	}{
		{coll.Call{Op: coll.Barrier, N: n}, "barrier=dissemination:4"},
		{coll.Call{Op: coll.Broadcast, N: n, Root: 5, Bytes: 100}, "broadcast=knomial:3"},
		{coll.Call{Op: coll.AllReduce, N: n - 1, Bytes: 8, Elem: 8}, "allreduce=doubling"},
	} {
		var results []cost.Result
		for range 2 {
			r, err := (&cost.Simulation{Ranks: x.call.N, Schedules: cost.Collective(x.call, choice(t, x.choice)), Model: machine.Model(x.call.N)}).Run()
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		if results[0] != results[1] {
			t.Errorf("%s: %+v, then %+v", x.choice, results[0], results[1])
		}
		if per := results[0].Memory / n; per > 1024 {
			t.Errorf("%s: %d bytes per rank", x.choice, per)
		}
	}
}

// TestFaults has schedules that do not fit together, and a model that is none.
func TestFaults(t *testing.T) {
	pair := func(a, b func(b *coll.Builder)) cost.Schedules {
		return func(rank int, builder *coll.Builder) error {
			[]func(b *coll.Builder){a, b}[rank](builder)
			return nil
		}
	}
	none := func(*coll.Builder) {}
	for _, x := range []struct {
		want string
		s    cost.Simulation
	}{
		{"deadlock: rank 1 waits for message 0 of rank 0", cost.Simulation{Schedules: pair(none, func(b *coll.Builder) { b.Await(b.RecvSignal(0)) })}},
		{"1 messages were sent that nobody awaits", cost.Simulation{Schedules: pair(func(b *coll.Builder) { b.Signal(1) }, none)}},
		{"rank 0, step 0: no rank 2", cost.Simulation{Schedules: pair(func(b *coll.Builder) { b.Signal(2) }, none)}},
		{"no price", cost.Simulation{Schedules: pair(func(b *coll.Builder) {
			b.Copy(coll.Span{Buf: coll.Dst, Len: 8}, coll.Span{Buf: coll.Shm, Rank: 1, Len: 8})
		}, none)}},
		{"does not apply", cost.Simulation{Schedules: cost.Collective(coll.Call{Op: coll.Broadcast, N: 2, Bytes: 8, Reach: true, ShmLimit: 1 << 20}, choice(t, "broadcast=direct"))}},
		{"want 2 or none", cost.Simulation{Schedules: pair(none, none), End: make([]vtime.Time, 1)}},
		{"before 0", cost.Simulation{Schedules: pair(none, none), Start: []vtime.Time{0, -1}}},
		{"went back in time", cost.Simulation{Schedules: pair(func(b *coll.Builder) { b.Signal(1) }, func(b *coll.Builder) { b.Await(b.RecvSignal(0)) }),
			Model: cost.LogGP{Latency: -1}.Model(2)}},
	} {
		x.s.Ranks = 2
		if x.s.Model == nil {
			x.s.Model = machine.Model(2)
		}
		if _, err := x.s.Run(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want %q", err, x.want)
		}
	}
}

func TestParseProfile(t *testing.T) {
	p, err := cost.ParseProfile("loggp:L=1.5us,o=300ns,gs=2ns,G=0.25ns,combine=0.1ns")
	want := cost.LogGP{Latency: 1_500_000, SendOverhead: 300_000, RecvOverhead: 300_000, SendGap: 2000, ByteGap: 250, Combine: 100}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	for text, want := range map[string]string{
		"":                   "no model",
		"sci":                "no model",
		"loggp:L":            "no time",
		"loggp:L=1":          "no time",
		"loggp:L=-1us":       "from 0 to an hour",
		"loggp:L=NaNus":      "from 0 to an hour",
		"loggp:L=2000000s":   "from 0 to an hour",
		"loggp:x=1us":        `no parameter "x"; there are o, g, L, os`,
		"loggp:o=1us,os=1us": "os is given twice",
		"loggp:L=1us,":       "no time",
	} {
		if p, err := cost.ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v; want %q", text, p, err, want)
		}
	}
}

// FuzzParseProfile wants what was read to be written so that it is read again.
func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{"loggp:", "loggp:L=1us,o=300ns,g=200ns,G=0.8ns,copy=1ps,combine=2ps,scan=0", "loggp:gr=1e-3s", "loggp:o=1us,os=2us"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := cost.ParseProfile(text)
		if err != nil {
			return
		}
		if again, err := cost.ParseProfile(p.String()); err != nil || again != p {
			t.Errorf("%q is %v, which is read as %v, %v", text, p, again, err)
		}
	})
}
