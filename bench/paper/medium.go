package paper

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
)

// mostMedium is the largest payload of a Medium in the paper: 1024 bytes less the header.
const mostMedium = 1024 - headerBytes

// medium compares the two ways in which the conduit can send a header and a payload.
func medium(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	var sizes []int
	for n := 0; n <= mostMedium; n += 16 {
		sizes = append(sizes, n)
	}
	two, err := s.mediums(sizes, map[string]string{"medium": "transfers"})
	if err != nil {
		return nil, err
	}
	one, err := s.mediums(sizes, map[string]string{"medium": "copy"})
	if err != nil {
		return nil, err
	}
	o.number("medium-slope", "growth with the payload, two transfers", 1000*leastSquares(two).slope, "ns/B")
	o.number("medium-slope-copy", "growth with the payload, one copy", 1000*leastSquares(one).slope, "ns/B")
	o.number("medium-944", "half round trip of the largest Medium, two transfers", valueAt(two, mostMedium), "us")
	o.claimTransfers(two[1:], one[1:])
	o.number("medium-ratio", "of the largest Medium by one copy and one transfer to that by two transfers", valueAt(one, mostMedium)/valueAt(two, mostMedium), "count")
	if err := s.claimStepsOf(o, "a Medium that is copied", oneCopied, []string{"host.copy", "host.copy-rate"}); err != nil {
		return nil, err
	}
	series := []plot.Series{
		{Name: "0 copies, 2 transfers", Points: two},
		{Name: "1 copy, 1 transfer", Points: one},
	}
	if mpi := s.overMPI(o); mpi != nil {
		if !s.Full { // over MPI repetitions are many
			sizes = slices.DeleteFunc(sizes, func(n int) bool { return n%128 != 0 && n != mostMedium })
		}
		over, err := mpi.mediums(sizes, nil)
		if err != nil {
			return nil, err
		}
		series = append(series, plot.Series{Name: "MPI conduit over ScaMPI", Points: over})
		slope := 1000 * leastSquares(over).slope
		o.number("mpi-medium-slope", "growth with the payload, MPI conduit", slope, "ns/B")
		o.claimAhead("Mediums of the SCI conduit are faster than those of the MPI conduit", "Su et al.", at(two, sizes), over)
		o.claim("and grow more slowly with the payload than those of the MPI conduit", "Su et al.", leastSquares(two).slope < leastSquares(over).slope,
			"%s and %s ns/B", figures(1000*leastSquares(two).slope), figures(slope))
	}
	o.Figures = append(o.Figures, Figure{"payload", plot.Figure{
		Title:  "Medium active messages: half round trip, by payload",
		Note:   s.reproduce("sci-medium"),
		X:      plot.Axis{Label: "payload, bytes"},
		Y:      plot.Axis{Label: "half round trip, µs"},
		Series: series,
	}})
	return o, nil
}

// mediums returns half of the mean round trip of Mediums by payload.
func (s *Setting) mediums(sizes []int, settings map[string]string) ([]plot.Point, error) {
	r := roundTrips{kind: core.Medium, sizes: sizes, ranks: pairRanks, repeats: s.messages(), config: small}
	r.config.Settings = settings
	return r.points(s)
}

// Below latestCrossover bytes, an eighth of the range, two transfers may be behind by mostBehind: a
// packet more takes longer than the copy of some bytes. The paper says of no size that its two
// transfers are behind, but its figure has no values for sizes so small.
const (
	latestCrossover = mostMedium / 8
	mostBehind      = 0.02
)

// claimTransfers adds what the paper says about its two ways to send a Medium, for all payloads, and
// the size from which on the model agrees.
func (o *Outcome) claimTransfers(two, one []plot.Point) {
	behind, ahead := 0.0, 0.0
	for i := range two {
		more := two[i].Y/one[i].Y - 1
		behind, ahead = max(behind, more), max(ahead, -more)
	}
	x, ok := crossing(one, two)
	o.claim(fmt.Sprintf("two transfers without a copy are faster than one transfer with a copy; below %d bytes they are at most %g %% behind", latestCrossover, 100*mostBehind),
		"Su et al., who except no size", ok && x <= latestCrossover && behind <= mostBehind,
		"faster from %s bytes on, by up to %.1f %%; below, up to %.1f %% behind", figures(x), 100*ahead, 100*behind)
	if ok {
		o.number("medium-crossover", "payload from which on two transfers take less time than a copy", x, "B")
	}
}

// at returns the points at the sizes, which there must be.
func at(points []plot.Point, sizes []int) []plot.Point {
	var chosen []plot.Point
	for _, n := range sizes {
		chosen = append(chosen, plot.Point{X: float64(n), Y: valueAt(points, float64(n))})
	}
	return chosen
}

// claimAhead adds that a takes less time than b at every point.
func (o *Outcome) claimAhead(text, source string, a, b []plot.Point) {
	behind, least := 0, b[0].Y/a[0].Y
	for i := range a {
		least = min(least, b[i].Y/a[i].Y)
		if a[i].Y >= b[i].Y {
			behind++
		}
	}
	o.claim(text, source, behind == 0, "behind at %d of %d points; the other takes %s times as long, or more", behind, len(a), figures(least))
}
