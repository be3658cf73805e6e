package cost

import (
	"math"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Point is a call of so many ranks on a profile's model.
type Point struct {
	Ranks int
	Result
}

// Growth runs a call, whose N does not count, for each number of ranks.
func Growth(c coll.Call, choice coll.Choice, p Profile, ranks []int) ([]Point, error) {
	var points []Point
	for _, n := range ranks {
		c.N = n
		r, err := (&Simulation{Ranks: n, Schedules: Collective(c, choice), Model: p.Model(n)}).Run()
		if err != nil {
			return nil, err
		}
		points = append(points, Point{n, r})
	}
	return points, nil
}

// Rounds returns the rounds of a logarithmic algorithm: the powers of the radix below ranks.
func Rounds(ranks, radix int) (rounds int) {
	for d := 1; d < ranks; d *= radix {
		rounds++
	}
	return rounds
}

// Formula is what the time of a logarithmic algorithm of radix 2 follows: that of P ranks is
// ⌈log₂ P⌉ · (A + B·scan(P)) picoseconds, where scan is how much a receiver looks through for
// a message.
type Formula struct {
	A, B float64
	Scan func(ranks int) float64
}

// Ranks is the scan of a receiver that looks at one flag of every rank.
func Ranks(ranks int) float64 { return float64(ranks) }

// Summary is the scan of a receiver with summary flags: one for 64 flags or summaries.
func Summary(ranks int) float64 { return float64(max(1, (bits.Len(uint(ranks-1))+5)/6)) }

// Time returns the picoseconds of a call of so many ranks.
func (f Formula) Time(ranks int) float64 {
	return float64(Rounds(ranks, 2)) * (f.A + f.B*f.Scan(ranks))
}

// Fit returns the formula that the points follow best: with the least squares of relative
// deviations; and the largest of these, as a part of the point's time. Points of one rank do
// not count. If the scan is the same for all points it is part of A, and B is 0.
func Fit(points []Point, scan func(ranks int) float64) (f Formula, worst float64) {
	// With the relative weight a point says 1 = A·x + B·y.
	var xx, xy, yy, x1, y1 float64
	for _, p := range points {
		if p.Ranks < 2 {
			continue
		}
		x := float64(Rounds(p.Ranks, 2)) / float64(p.End)
		y := x * scan(p.Ranks)
		xx, xy, yy, x1, y1 = xx+x*x, xy+x*y, yy+y*y, x1+x, y1+y
	}
	f.Scan = scan
	const singular = 1e-9
	if det := xx*yy - xy*xy; det > singular*xx*yy {
		f.A, f.B = (x1*yy-y1*xy)/det, (y1*xx-x1*xy)/det
	} else if xx > 0 {
		f.A = x1 / xx
	}
	for _, p := range points {
		if p.Ranks > 1 {
			worst = max(worst, math.Abs(f.Time(p.Ranks)/float64(p.End)-1))
		}
	}
	return f, worst
}
