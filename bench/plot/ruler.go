package plot

import (
	"math"
	"strconv"
	"strings"
)

// Scale says how the values of an axis are spread over it.
type Scale uint8

// The scales.
const (
	Linear Scale = iota
	Log10        // decades
	Log2         // powers of two, as sizes in bytes and numbers of ranks are; 1K is 1024
)

// mostTicks bounds the ticks of an axis, so that their labels do not touch.
const mostTicks = 11

// ruler is an axis with its range.
type ruler struct {
	scale     Scale
	low, high float64 // of the range; exponents on a logarithmic scale
	ticks     []tick  // ascending
}

// tick is a line of the grid. A label "" is none.
type tick struct {
	at    float64 // between 0 and 1 of the axis
	label string
}

// ruler returns the ruler of the scale on which low to high have a place.
func (s Scale) ruler(low, high float64) ruler {
	switch s {
	case Log10:
		return log10Ruler(low, high)
	case Log2:
		return log2Ruler(low, high)
	}
	return linearRuler(low, high)
}

// place returns where v is on the axis, between 0 and 1 for values in the range.
func (r *ruler) place(v float64) float64 {
	switch r.scale {
	case Log10:
		v = math.Log10(v)
	case Log2:
		v = math.Log2(v)
	}
	return (v - r.low) / (r.high - r.low)
}

// linearRuler has ticks at multiples of 1, 2 or 5 times a power of ten.
func linearRuler(low, high float64) ruler {
	low, high = min(low, 0), max(high, 0)
	if low == high {
		high = 1
	}
	step := niceStep((high - low) / (mostTicks - 4))
	first, last := math.Floor(low/step), math.Ceil(high/step)
	r := ruler{scale: Linear, low: first * step, high: last * step}
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	for i := first; i <= last; i++ {
		r.ticks = append(r.ticks, tick{(i - first) / (last - first), decimal(i*step, digits)})
	}
	return r
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not below least.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least {
			return f * power
		}
	}
	return 10 * power
}

// log10Ruler has ticks at powers of ten, and between them if these are few.
func log10Ruler(low, high float64) ruler {
	from, to, stride := exponents(math.Log10(low), math.Log10(high))
	r := ruler{scale: Log10, low: from, high: to}
	within := []float64{1}
	if to-from <= 3 {
		within = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	}
	for e := from; e <= to; e += stride {
		for _, f := range within {
			if f > 1 && e == to {
				break
			}
			t := tick{at: (e + math.Log10(f) - from) / (to - from)}
			if f == 1 || to-from <= 2 && (f == 2 || f == 5) {
				t.label = powerLabel(f, int(e))
			}
			r.ticks = append(r.ticks, t)
		}
	}
	return r
}

// exponents returns whole exponents around low and high, and in what steps they are ticked.
func exponents(low, high float64) (from, to, stride float64) {
	from, to = math.Floor(low), math.Ceil(high)
	if from == to {
		to++
	}
	return from, to, math.Ceil((to - from) / (mostTicks - 1))
}

// powerLabel writes f times a power of ten, in figures if these are few.
func powerLabel(f float64, exp int) string {
	if exp >= -3 && exp < 6 {
		return decimal(f*math.Pow(10, float64(exp)), max(0, -exp))
	}
	s := "10" + strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(exp))
	if f != 1 {
		s = decimal(f, 0) + "·" + s
	}
	return s
}

// log2Ruler has ticks at powers of two.
func log2Ruler(low, high float64) ruler {
	from, to, stride := exponents(math.Log2(low), math.Log2(high))
	r := ruler{scale: Log2, low: from, high: to}
	for e := from; e <= to; e += stride {
		r.ticks = append(r.ticks, tick{(e - from) / (to - from), binaryLabel(int(e))})
	}
	return r
}

// binaryLabel writes a power of two: 512, 1K, 64K, 1M.
func binaryLabel(exp int) string {
	const prefixes = "KMGTPE"
	switch unit := exp / 10; {
	case exp < -10 || unit > len(prefixes):
		return "2^" + strconv.Itoa(exp)
	case exp < 0:
		return strconv.FormatFloat(math.Ldexp(1, exp), 'g', 3, 64)
	case unit == 0:
		return strconv.Itoa(1 << exp)
	default:
		return strconv.Itoa(1<<(exp%10)) + prefixes[unit-1:unit]
	}
}

// decimal formats v with so many decimals, and in powers of ten if that gets long. It never
// says -0.
func decimal(v float64, digits int) string {
	if digits > 6 || math.Abs(v) >= 1e9 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}
