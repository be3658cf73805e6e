package paper

import (
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
)

// long measures what the conduit's copy into the DMA queue's memory costs.
func long(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	sizes := powers(512, 1<<20)
	conduit, err := s.longs(sizes)
	if err != nil {
		return nil, err
	}
	raw, err := s.dma(sizes)
	if err != nil {
		return nil, err
	}
	most := float64(sizes[len(sizes)-1])
	o.number("long-rate", "bandwidth of the largest Long", most/valueAt(conduit, most), "MB/s")
	o.number("dma-rate", "of raw DMA of that size", most/valueAt(raw, most), "MB/s")
	o.claimAhead("raw DMA is faster than Longs by DMA", "Su et al.", byDMA(raw), byDMA(conduit))
	o.note("Longs of up to %d bytes are stored and not sent by DMA, as in the conduit's later source", mostMedium)
	if err := o.claimCopy(s, valueAt(conduit, most)-valueAt(raw, most), int(most)); err != nil {
		return nil, err
	}
	series := []plot.Series{
		{Name: "SCI conduit, Long", Points: rates(conduit)},
		{Name: "raw DMA", Points: rates(raw)},
	}
	if mpi := s.overMPI(o); mpi != nil {
		over, err := mpi.longs(sizes)
		if err != nil {
			return nil, err
		}
		series = append(series, plot.Series{Name: "MPI conduit over ScaMPI, Long", Points: rates(over)})
	}
	o.Figures = append(o.Figures, Figure{"bandwidth", plot.Figure{
		Title:  "Long active messages: payload over half of the round trip",
		Note:   s.reproduce("sci-long"),
		X:      plot.Axis{Label: "payload, bytes", Scale: plot.Log2},
		Y:      plot.Axis{Label: "bandwidth, MB/s (10⁶ bytes)"},
		Series: series,
	}})
	return o, nil
}

// byDMA returns the points of those payloads that the conduit sends by DMA.
func byDMA(points []plot.Point) []plot.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p plot.Point) bool { return p.X <= mostMedium })
}

// claimCopy adds that what a Long of so many bytes takes longer than raw DMA, in
// microseconds, is the copy into the queue's memory, but for a tenth.
func (o *Outcome) claimCopy(s *Setting, loss float64, bytes int) error {
	p, err := hardware.NewProfile(s.Machine)
	if err != nil {
		return err
	}
	cp := micros(p.Host.Copy + p.Host.CopyRate.Time(bytes))
	o.claim("the loss is the copy into the memory of the DMA queue, within a tenth", "Su et al.", math.Abs(loss-cp) <= loss/10,
		"of %s µs lost the copy takes %s", figures(loss), figures(cp))
	return nil
}

// longs returns half of the mean round trip of Longs by payload.
func (s *Setting) longs(sizes []int) ([]plot.Point, error) {
	r := roundTrips{kind: core.Long, sizes: sizes, ranks: pairRanks, repeats: s.repeats(1000)}
	r.config.Segment = fmt.Sprint(sizes[len(sizes)-1])
	return r.points(s)
}
