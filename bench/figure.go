package bench

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// Kind says what a figure is of, so that programs that draw know which figures belong together.
type Kind string

// The kinds.
const (
	Latency    Kind = "latency"   // µs: half a round trip, or a call that returns when it is done
	Throughput Kind = "rate"      // operations per second
	Bandwidth  Kind = "bandwidth" // MB/s, of 10^6 bytes
	Scaling    Kind = "scaling"   // µs of an operation of all ranks, to be seen over their number
	StartUp    Kind = "startup"   // ms from the launch of a job until all its ranks are attached
)

// Confidence is the level of the confidence intervals of figures.
const Confidence = 0.95

// A Figure is what a result comes to in one unit: a median, and how sure it is.
type Figure struct {
	Kind  Kind    `json:"kind"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"` // median of the samples
	P5    float64 `json:"p5"`    // quantiles of the samples
	P95   float64 `json:"p95"`
	// Low and High bound the confidence interval of the median, by order statistics, which assume nothing of how
	// samples are distributed (H. A. David and H. N. Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1). Fewer than six
	// samples have no interval at a level of 95 %: then they are the least and the greatest sample, and Sure is false.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Sure bool    `json:"sure"`
	N    int     `json:"n"` // samples
	// Better says which way is good: "lower" or "higher".
	Better string `json:"better"`
}

// NewFigure makes a figure of samples, of which there is at least one.
func NewFigure(kind Kind, unit string, values []float64) Figure {
	low, high, sure := Interval(values)
	f := Figure{
		Kind: kind, Unit: unit, Value: Median(values), P5: Quantile(values, 0.05), P95: Quantile(values, 0.95),
		Low: low, High: high, Sure: sure, N: len(values), Better: "lower",
	}
	if kind == Throughput || kind == Bandwidth {
		f.Better = "higher"
	}
	return f
}

// Interval returns the confidence interval of the median. sure is false if there are too few values for one; then it is that of
// all values.
func Interval(values []float64) (low, high float64, sure bool) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(append([]float64(nil), values...), &benchmath.DefaultThresholds), Confidence)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return Quantile(values, 0), Quantile(values, 1), false
	}
	return s.Lo, s.Hi, true
}

// Figures returns what a result of the series comes to, the figure that matters most first.
func (s *Series) Figures(r *Result) []Figure {
	ns := r.Values(NsPerOp)
	if len(ns) == 0 {
		return nil
	}
	each := func(kind Kind, unit string, of func(ns float64) float64) Figure {
		values := make([]float64, len(ns))
		for i, v := range ns {
			values[i] = of(v)
		}
		return NewFigure(kind, unit, values)
	}
	rate := func() Figure { return each(Throughput, "1/s", func(ns float64) float64 { return 1e9 / ns }) }
	micros := func(kind Kind) Figure { return each(kind, "us", func(ns float64) float64 { return ns / 1e3 }) }
	bandwidth := func() Figure {
		return each(Bandwidth, "MB/s", func(ns float64) float64 { return float64(r.Size) * 1e3 / ns })
	}
	switch {
	case s.Param("op") == "startup":
		return []Figure{each(StartUp, "ms", func(ns float64) float64 { return ns / 1e6 })}
	case s.Quantity == RoundTrip:
		return []Figure{each(Latency, "us", func(ns float64) float64 { return ns / 2 / 1e3 })}
	case s.Quantity == Stream && r.Size == 0:
		return []Figure{rate()}
	case s.Quantity == Stream:
		return []Figure{bandwidth(), rate()}
	case s.Quantity == Access:
		return []Figure{micros(Latency), bandwidth()}
	case s.Quantity == Rate:
		return []Figure{rate()}
	case s.Axis == Ranks || s.Family == "Coll":
		return []Figure{micros(Scaling)}
	}
	return []Figure{micros(Latency)}
}

// Param returns the value of a parameter, or "".
func (s *Series) Param(key string) string {
	for _, p := range s.Params {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}
