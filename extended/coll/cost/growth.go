package cost

import "github.com/aqueduct-go/aqueduct/extended/coll"

// Point is a call of so many ranks on a profile's model.
type Point struct {
	Ranks int
	Result
}

// On returns the call as ranks of a machine make it.
func On(p Profile, c coll.Call, ranks int) coll.Call {
	c.N, c.Hosts = ranks, hostsOf(p, ranks)
	return c
}

// Growth runs a call as On has it for each number of ranks.
func Growth(c coll.Call, choice coll.Choice, p Profile, ranks []int) ([]Point, error) {
	var points []Point
	for _, n := range ranks {
		r, err := (&Simulation{Ranks: n, Schedules: Collective(On(p, c, n), choice), Model: p.Model(n)}).Run()
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

// Time returns the picoseconds of a call of so many ranks.
func (f Formula) Time(ranks int) float64 {
	return float64(Rounds(ranks, 2)) * (f.A + f.B*f.Scan(ranks))
}
