package bench

import (
	"math"
	"slices"
)

// Quantile returns the q-quantile of values, 0 ≤ q ≤ 1, interpolating linearly between
// the two nearest (type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages",
// 1996). It is NaN if there are no values. The order of values does not matter and is kept.
func Quantile(values []float64, q float64) float64 {
	return sortedQuantile(slices.Sorted(slices.Values(values)), q)
}

// Median returns the 0.5-quantile.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// A Summary describes a set of values. There is no mean: a single preempted sample would
// decide it.
type Summary struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	P5     float64 `json:"p5"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// Summarize describes values. If there are none, N is 0 and the rest is NaN.
func Summarize(values []float64) Summary {
	s := slices.Sorted(slices.Values(values))
	return Summary{
		N:      len(s),
		Min:    sortedQuantile(s, 0),
		P5:     sortedQuantile(s, 0.05),
		P25:    sortedQuantile(s, 0.25),
		Median: sortedQuantile(s, 0.5),
		P75:    sortedQuantile(s, 0.75),
		P95:    sortedQuantile(s, 0.95),
		P99:    sortedQuantile(s, 0.99),
		Max:    sortedQuantile(s, 1),
	}
}

func sortedQuantile(s []float64, q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	at := q * float64(len(s)-1)
	i := min(int(at), len(s)-1)
	if i == len(s)-1 {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}
