// Package plot draws line charts as SVG: series over one horizontal axis, linear or
// logarithmic, with the numbers that somebody published marked apart. Equal figures give
// equal bytes, so that a chart can be kept beside the command that makes it and compared.
package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Figure is one chart.
type Figure struct {
	Title  string   `json:"title"`
	Note   string   `json:"note,omitempty"` // under the chart: what must be explained, conditions, the command that reproduces it; "" for none
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"` // in the order of the legend
}

// An Axis is one of the two directions. Its range follows from the points: a linear axis
// begins at 0 unless points are below, a logarithmic one runs from power to power.
type Axis struct {
	Label string `json:"label"` // quantity and unit: "payload, bytes"
	Scale Scale  `json:"scale"`
}

// A Series is a set of points that belong together, in ascending order of X where they are
// joined by a line.
type Series struct {
	Name   string  `json:"name"` // in the legend
	Kind   Kind    `json:"kind"`
	Points []Point `json:"points"`
}

// Kind says where the points of a series come from, which decides how they look.
type Kind uint8

// The kinds.
const (
	Measured  Kind = iota // marks, joined by a line
	Formula               // a dashed line without marks, in the colour of the measured series before it
	Published             // large hollow marks that are not joined
)

// names of kinds and of scales in JSON.
var (
	kindNames  = []string{"measured", "formula", "published"}
	scaleNames = []string{"linear", "log10", "log2"}
)

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(kindNames[k]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(text []byte) error { return named(kindNames, text, (*uint8)(k)) }

// MarshalText implements encoding.TextMarshaler.
func (s Scale) MarshalText() ([]byte, error) { return []byte(scaleNames[s]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Scale) UnmarshalText(text []byte) error { return named(scaleNames, text, (*uint8)(s)) }

// named sets v to the place of a name.
func named(names []string, text []byte, v *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("plot: %q is none of %v", text, names)
	}
	*v = uint8(i)
	return nil
}

// A Point is one value, in the units of the axes, between two others that say how far it varies: the 5th and the 95th
// percentile where Y is a median. Both are 0 where that is not known.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// check says what cannot be drawn.
func (f *Figure) check() error {
	empty := true
	for _, s := range f.Series {
		for _, p := range s.Points {
			empty = false
			if err := errors.Join(f.X.check(p.X), f.Y.check(p.Y)); err != nil {
				return fmt.Errorf("plot: figure %q: series %q: point (%g, %g): %w", f.Title, s.Name, p.X, p.Y, err)
			}
		}
	}
	if empty {
		return fmt.Errorf("plot: figure %q has no points", f.Title)
	}
	return nil
}

// largest bounds coordinates, so that no computation with them overflows.
const largest = 1e100

func (a *Axis) check(v float64) error {
	switch {
	case math.IsNaN(v) || math.Abs(v) > largest:
		return fmt.Errorf("%g is no place on the axis %q", v, a.Label)
	case a.Scale != Linear && v < 1/largest:
		return fmt.Errorf("%g has no place on the logarithmic axis %q", v, a.Label)
	}
	return nil
}

// ruler returns the axis's ruler for the coordinates that which picks.
func (f *Figure) ruler(a *Axis, which func(Point) float64) ruler {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		for _, p := range s.Points {
			low, high = min(low, which(p)), max(high, which(p))
		}
	}
	return a.Scale.ruler(low, high)
}
