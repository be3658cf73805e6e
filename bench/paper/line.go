package paper

import "github.com/aqueduct-go/aqueduct/bench/plot"

// line is y = intercept + slope·x.
type line struct{ intercept, slope float64 }

// leastSquares fits a line to points. It needs two with different x.
func leastSquares(points []plot.Point) line {
	var mx, my float64
	for _, p := range points {
		mx += p.X / float64(len(points))
		my += p.Y / float64(len(points))
	}
	var xx, xy float64
	for _, p := range points {
		xx += (p.X - mx) * (p.X - mx)
		xy += (p.X - mx) * (p.Y - my)
	}
	slope := xy / xx
	return line{my - slope*mx, slope}
}

// crossing returns the smallest x, by linear interpolation between the points, from which on
// b stays at or below a; false if there is none. Both have the same x, ascending.
func crossing(a, b []plot.Point) (x float64, ok bool) {
	i := len(a)
	for i > 0 && b[i-1].Y <= a[i-1].Y {
		i--
	}
	switch i {
	case len(a):
		return 0, false
	case 0:
		return a[0].X, true
	}
	before, after := b[i-1].Y-a[i-1].Y, b[i].Y-a[i].Y
	return a[i-1].X + (a[i].X-a[i-1].X)*before/(before-after), true
}
