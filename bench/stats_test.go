package bench_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{7}, 0, 7},
		{[]float64{7}, 0.5, 7},
		{[]float64{7}, 1, 7},
		{[]float64{4, 1, 3, 2}, 0, 1},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{4, 1, 3, 2}, 1, 4},
		{[]float64{1, 2, 3, 4, 100}, 0.5, 3},
		{[]float64{0, 10}, 0.25, 2.5},
		{[]float64{0, 10, 20}, 0.99, 19.8},
	} {
		if got := bench.Quantile(c.values, c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.values, c.q, got, c.want)
		}
	}
	if got := bench.Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v", got)
	}
}

// TestQuantileProperties checks what holds for any values: quantiles rise with q, stay
// within the values, and do not depend on or change their order.
func TestQuantileProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float64, 1+rng.IntN(20))
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		before := slices.Clone(values)
		last := slices.Min(values)
		for q := 0.0; q <= 1; q += 0.01 {
			got := bench.Quantile(values, q)
			if got < last-1e-12 || got > slices.Max(values) {
				t.Fatalf("Quantile(%v, %v) = %v after %v", values, q, got, last)
			}
			last = got
		}
		if !slices.Equal(values, before) {
			t.Fatal("Quantile changed its argument")
		}
		rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if a, b := bench.Summarize(values), bench.Summarize(before); a != b {
			t.Fatalf("order matters: %v, %v", a, b)
		}
	}
}

func TestSummarize(t *testing.T) {
	values := make([]float64, 101)
	for i := range values {
		values[i] = float64(100 - i)
	}
	want := bench.Summary{N: 101, Min: 0, P5: 5, P25: 25, Median: 50, P75: 75, P95: 95, P99: 99, Max: 100}
	if got := bench.Summarize(values); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s := bench.Summarize(nil); s.N != 0 || !math.IsNaN(s.Median) {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestPlacementOf(t *testing.T) {
	for ns, want := range map[float64]bench.Placement{
		-1: bench.Unknown, 0: bench.Unknown, math.NaN(): bench.Unknown,
		53: bench.Near, 82: bench.Near, 99.9: bench.Near,
		100: bench.Mid, 148: bench.Mid, 290: bench.Mid, 350: bench.Mid, 399.9: bench.Mid,
		400: bench.Far, 508: bench.Far, 10_000: bench.Far,
	} {
		if got := bench.PlacementOf(ns); got != want {
			t.Errorf("PlacementOf(%v) = %v, want %v", ns, got, want)
		}
	}
}
