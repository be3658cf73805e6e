// Package plot draws line charts as SVG: series over one horizontal axis, linear or
// logarithmic, with the numbers that somebody published marked apart. Equal figures give
// equal bytes, so that a chart can be kept beside the command that makes it and compared.
package plot

import (
	"errors"
	"fmt"
	"math"
)

// A Figure is one chart.
type Figure struct {
	Title  string
	Note   string // under the chart: conditions, the command that reproduces it; "" for none
	X, Y   Axis
	Series []Series // in the order of the legend
}

// An Axis is one of the two directions. Its range follows from the points: a linear axis
// begins at 0 unless points are below, a logarithmic one runs from power to power.
type Axis struct {
	Label string // quantity and unit: "payload, bytes"
	Scale Scale
}

// A Series is a set of points that belong together, in ascending order of X where they are
// joined by a line.
type Series struct {
	Name   string // in the legend
	Kind   Kind
	Points []Point
}

// Kind says where the points of a series come from, which decides how they look.
type Kind uint8

// The kinds.
const (
	Measured  Kind = iota // marks, joined by a line
	Formula               // a dashed line without marks, in the colour of the measured series before it
	Published             // large hollow marks that are not joined
)

// A Point is one value, in the units of the axes.
type Point struct{ X, Y float64 }

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
