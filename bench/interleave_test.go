package bench_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
)

func TestBracket(t *testing.T) {
	for _, c := range []struct {
		before, sample, after, ratio float64
		ok                           bool
	}{
		{100, 120, 100, 1.2, true},
		{100, 115, 130, 1, false}, // 30 % apart
		{130, 115, 100, 1, false},
		{100, 114.95, 129.9, 1, true},
		{50, 75, 100, 1, false},
		{0, 10, 0, math.Inf(1), false},
	} {
		ratio, ok := bench.Bracket(c.before, c.sample, c.after)
		if ok != c.ok || math.Abs(ratio-c.ratio) > 1e-9 {
			t.Errorf("Bracket(%v, %v, %v) = %v, %v, want %v, %v", c.before, c.sample, c.after, ratio, ok, c.ratio, c.ok)
		}
	}
	if _, ok := bench.Bracket(math.NaN(), 1, 1); ok {
		t.Error("a floor that is not a number counts as even")
	}
}

var errScript = errors.New("end of script")

// script is a meter that gives the values in turn, then fails.
func script(values ...float64) bench.Meter {
	return func() (float64, error) {
		if len(values) == 0 {
			return 0, errScript
		}
		v := values[0]
		values = values[1:]
		return v, nil
	}
}

func sample(ns, ratio float64, p bench.Placement) bench.Sample {
	return bench.Sample{Ns: ns, Metrics: map[string]float64{"x-floor": ratio}, Placement: p}
}

func TestInterleave(t *testing.T) {
	for _, c := range []struct {
		name        string
		samples     int
		floor, work []float64
		want        bench.Outcome
	}{
		{
			// Each floor sample but the outer ones serves two brackets; the scripts hold
			// exactly what may be asked for.
			"even", 2, []float64{200, 200, 200}, []float64{240, 260},
			bench.Outcome{
				Samples:   []bench.Sample{sample(240, 1.2, bench.Mid), sample(260, 1.3, bench.Mid)},
				Placement: bench.Mid,
			},
		},
		{
			"one pair dropped", 2, []float64{200, 200, 800, 800}, []float64{220, 900, 880},
			bench.Outcome{
				Samples:   []bench.Sample{sample(220, 1.1, bench.Mid)},
				Placement: bench.Mid, Uneven: 1, Elsewhere: 1,
			},
		},
		{
			"most common placement", 3, []float64{50, 50, 500, 500, 500}, []float64{60, 1, 550, 650},
			bench.Outcome{
				Samples:   []bench.Sample{sample(550, 1.1, bench.Far), sample(650, 1.3, bench.Far)},
				Placement: bench.Far, Uneven: 1, Elsewhere: 1,
			},
		},
		{
			"gives up", 2, []float64{100, 100, 200, 100, 200, 100, 200}, []float64{120, 1, 1, 1, 1, 1},
			bench.Outcome{
				Samples:   []bench.Sample{sample(120, 1.2, bench.Mid)},
				Placement: bench.Mid, Uneven: 5,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			refs := []bench.Reference{{Unit: "x-floor", Meter: script(c.floor...), Places: true}}
			got, err := bench.Interleave(t.Context(), c.samples, refs, script(c.work...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInterleaveReferences checks several references: each has its ratio, any of them can
// spoil a sample, and one without a unit only names the placement.
func TestInterleaveReferences(t *testing.T) {
	refs := []bench.Reference{
		{Unit: "x-floor", Meter: script(10, 10, 10, 10)},
		{Unit: "x-peer", Meter: script(40, 40, 80, 80)},
		{Meter: script(70, 70, 70, 70), Places: true},
	}
	got, err := bench.Interleave(t.Context(), 2, refs, script(20, 20, 20))
	if err != nil {
		t.Fatal(err)
	}
	want := bench.Outcome{
		Samples: []bench.Sample{
			{Ns: 20, Metrics: map[string]float64{"x-floor": 2, "x-peer": 0.5}, Placement: bench.Near},
			{Ns: 20, Metrics: map[string]float64{"x-floor": 2, "x-peer": 0.25}, Placement: bench.Near},
		},
		Placement: bench.Near, Uneven: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInterleaveAlone(t *testing.T) {
	got, err := bench.Interleave(t.Context(), 2, nil, script(5, 6))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Samples) != 2 || got.Placement != bench.Unknown || len(got.Samples[0].Metrics) != 0 {
		t.Errorf("without references: %+v", got)
	}
}

func TestInterleaveFails(t *testing.T) {
	even := func() (float64, error) { return 100, nil }
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name      string
		ctx       context.Context
		samples   int
		ref, work bench.Meter
		want      error
	}{
		{"never even", t.Context(), 1, script(1, 2, 1, 2), even, bench.ErrDisturbed},
		{"first reference", t.Context(), 1, script(), even, errScript},
		{"later reference", t.Context(), 2, script(100, 100), even, errScript},
		{"work", t.Context(), 1, even, script(), errScript},
		{"canceled", canceled, 1, even, even, context.Canceled},
	} {
		refs := []bench.Reference{{Unit: "x-floor", Meter: c.ref}}
		if got, err := bench.Interleave(c.ctx, c.samples, refs, c.work); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want %v", c.name, got, err, c.want)
		}
	}
	if _, err := bench.Interleave(t.Context(), 0, nil, even); err == nil {
		t.Error("no samples: no error")
	}
}

func TestCalibrate(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want int
	}{{100, 100_000}, {1, 10_000_000}, {1e6, 10}, {1e9, 1}, {1e-9, 1 << 30}} {
		got, err := bench.Calibrate(10*time.Millisecond, func(int) (float64, error) { return c.ns, nil })
		if err != nil || got != c.want {
			t.Errorf("%v ns per operation: %d, %v; want %d", c.ns, got, err, c.want)
		}
	}
	if _, err := bench.Calibrate(time.Second, func(int) (float64, error) { return 0, errScript }); !errors.Is(err, errScript) {
		t.Errorf("error %v", err)
	}
}

// TestInterleaveFloor interleaves a real floor with itself.
func TestInterleaveFloor(t *testing.T) {
	cpus, err := bench.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	f, err := floor.Start(t.Context(), floor.Memcpy, cpus[:1], 4096)
	if errors.Is(err, floor.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meter := bench.Meter(f.Meter(5000))
	refs := []bench.Reference{{Unit: "x-floor", Meter: meter}}
	got, err := bench.Interleave(t.Context(), 3, refs, meter)
	if errors.Is(err, bench.ErrDisturbed) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Samples {
		if s.Ns <= 0 || s.Metrics["x-floor"] <= 0 {
			t.Errorf("sample %+v", s)
		}
	}
}

// TestPeer checks that a peer's uneven brackets cost its own ratio and nothing else.
func TestPeer(t *testing.T) {
	refs := []bench.Reference{
		{Unit: "x-floor", Meter: script(100, 100, 100)},
		{Unit: "x-peer", Meter: script(400, 400, 900), Peer: true},
	}
	got, err := bench.Interleave(t.Context(), 2, refs, script(200, 300))
	if err != nil {
		t.Fatal(err)
	}
	want := bench.Outcome{Placement: bench.Unknown, Samples: []bench.Sample{
		{Ns: 200, Metrics: map[string]float64{"x-floor": 2, "x-peer": 0.5}, Placement: bench.Unknown},
		{Ns: 300, Metrics: map[string]float64{"x-floor": 3}, Placement: bench.Unknown},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
