package paper

import (
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
)

// headerBytes is the size of an active message's header in the paper.
const headerBytes = 80

// short measures what the conduit adds to the hardware for the smallest message.
func short(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	pio, err := s.pioPingPong([]int{headerBytes}, 1)
	if err != nil {
		return nil, err
	}
	raw := pio[0].Y
	jobs := []int{pairRanks, 4, torusNodes}
	if s.Full {
		jobs = append(jobs, 2*torusNodes)
	}
	conduit, err := s.shortByRanks(jobs)
	if err != nil {
		return nil, err
	}
	am := valueAt(conduit, pairRanks)
	o.number("raw-pio-80", "half round trip of 80 bytes by stores, with their check and a flag", raw, "us")
	o.number("am-short", "half round trip of a Short, the conduit, in a job of 2", am, "us")
	o.number("am-short-8", "the same in a job of 8", valueAt(conduit, torusNodes), "us")
	if s.publishes() {
		o.claim("the conduit adds 1 to 2 µs to raw stores (follows from the fitted numbers)", "Su et al.", am-raw >= 1 && am-raw <= 2, "%s µs", figures(am-raw))
	}
	series := []plot.Series{
		{Name: "SCI conduit", Points: conduit},
		{Name: "raw stores, 80 bytes", Kind: plot.Formula, Points: []plot.Point{{X: pairRanks, Y: raw}, {X: float64(jobs[len(jobs)-1]), Y: raw}}},
	}
	if mpi := s.overMPI(o); mpi != nil {
		over, err := mpi.shortByRanks(jobs)
		if err != nil {
			return nil, err
		}
		o.number("am-short-mpi", "half round trip of a Short over ScaMPI, the MPI conduit, in a job of 2", valueAt(over, pairRanks), "us")
		o.number("am-short-mpi-8", "the same in a job of 8", valueAt(over, torusNodes), "us")
		series = append(series, plot.Series{Name: "MPI conduit over ScaMPI", Points: over})
	}
	if err := s.partsOfShort(o, am, raw); err != nil {
		return nil, err
	}
	o.Figures = append(o.Figures, Figure{"ranks", plot.Figure{
		Title:  "Short active messages: half round trip, by the size of the job",
		Note:   s.reproduce("sci-short"),
		X:      plot.Axis{Label: "ranks of the job, of which two exchange messages", Scale: plot.Log2},
		Y:      plot.Axis{Label: "half round trip, µs"},
		Series: append(series, s.published(pairRanks, "raw-pio-80", "am-short", "am-short-mpi")...),
	}})
	return o, nil
}

// shortByRanks returns half of the mean round trip of a Short, by the size of the job.
func (s *Setting) shortByRanks(jobs []int) ([]plot.Point, error) {
	var points []plot.Point
	for _, n := range jobs {
		r := roundTrips{kind: core.Short, sizes: []int{0}, ranks: n, repeats: s.messages(), config: small}
		times, err := r.halves(s)
		if err != nil {
			return nil, err
		}
		points = append(points, plot.Point{X: float64(n), Y: micros(times[0])})
	}
	return points, nil
}

// small is the configuration of jobs that need no segment to speak of.
var small = core.Config{Segment: "4096"}
