package paper

import (
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// What the paper's percentages are about: messages of a packet and less. 1 % and 125 ns are half round trips of
// 12.5 µs, 10 % and 1.3 µs of 13 µs; 0.4 % and 3 % would be 31 and 43 µs, which no one size has at constant costs.
// So each is looked for on the whole axis up to a packet.
const (
	shortest = 32   // bytes: up to here messages count as very short
	longest  = 3600 // and from here on as long
)

// itbOverhead compares two images of the control program, with and without in-transit support, on up*/down* routes.
func itbOverhead(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.gmProfile("", "", "")
	if err != nil {
		return nil, err
	}
	mtu := int(p.GM.MTU)
	original := gmRun{gm.Image{}, (*gm.Testbed).UpDown}
	modified := gmRun{gm.Image{ITB: true}, (*gm.Testbed).UpDown}
	measure := func(sizes []int) (without, with []plot.Point, err error) {
		if without, err = s.allsize(p, original, sizes); err == nil {
			with, err = s.allsize(p, modified, sizes)
		}
		return without, with, err
	}
	without, with, err := measure(packetSizes(mtu))
	if err != nil {
		return nil, err
	}
	more, fractions, mean, largest := differences(without, with, 1)
	short, long := 100*average(fractions, 1, shortest), 100*average(fractions, longest, float64(mtu))
	var large []int
	for n := 1; n <= 16; n *= 2 {
		large = append(large, n*mtu)
	}
	withoutLarge, withLarge, err := measure(large)
	if err != nil {
		return nil, err
	}
	moreLarge, _, _, _ := differences(withoutLarge, withLarge, 1)
	first, last := moreLarge[0].Y, moreLarge[len(moreLarge)-1].Y
	slope := 1000 * leastSquares(moreLarge).slope * float64(mtu)

	o.number("gm-short", "half round trip of 1 byte, original program, 2.5 switches", without[0].Y, "us")
	o.number("itb-overhead", "mean overhead of in-transit support, up to a packet", 1000*mean, "ns")
	o.number("itb-overhead-even", "the mean where every size counts alike", 1000*even(more), "ns")
	o.number("itb-overhead-most", "the largest", 1000*largest, "ns")
	o.number("itb-overhead-packet", "the slope above a packet, by the packet", slope, "ns")
	if s.goal("itb-overhead") != nil { // claims in ns are about the published machine alone
		o.claim("the overhead is never above 300 ns", "Coll et al.", largest <= 0.3, "%s ns", figures(1000*largest))
		o.claim("it is about 1 % of very short messages, and 0.4 % or less of long ones", "Coll et al.", short > 0.5 && short < 2 && long > 0.1 && long < 0.4,
			"%s %% up to %d B, %s %% from %d B on", figures(short), shortest, figures(long), longest)
	}
	o.claim("it is paid by the packet (abstract), not by the message (text)", "Coll et al. say both", last > 4*first && slope > 20,
		"%s ns for a message of a packet, %s for one of 16", figures(1000*first), figures(1000*last))
	o.note("The paper's percentages do not belong to one constant overhead: see docs/paper-itb.md.")
	o.Figures = append(o.Figures,
		Figure{"overhead", plot.Figure{
			Title: "Overhead of in-transit support, by size", Note: s.reproduce("itb-overhead"),
			X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "time, ns"},
			Series: append([]plot.Series{{Name: "half round trip, modified less original", Points: times(more, 1000)}}, s.published(64, "itb-overhead")...),
		}},
		Figure{"latency", plot.Figure{
			Title: "Half round trip with the original and the modified program", Note: s.reproduce("itb-overhead"),
			X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "time, µs"},
			Series: append([]plot.Series{{Name: "original", Points: without}, {Name: "modified", Points: with}}, s.published(1, "gm-short")...),
		}},
		Figure{"packets", plot.Figure{
			Title: "Overhead of messages of several packets", Note: s.reproduce("itb-overhead"),
			X: plot.Axis{Label: "size, bytes"}, Y: plot.Axis{Label: "time, ns"},
			Series: []plot.Series{{Name: "half round trip, modified less original", Points: times(moreLarge, 1000)}},
		}})
	return o, nil
}

// itbCost compares the up*/down* route that loops in switch 2 with the one through the in-transit host: both have
// five switches and the same kinds of ports. Only one direction has the in-transit buffer, so that it costs twice
// what half of the round trip takes more.
func itbCost(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.gmProfile("", "", "")
	if err != nil {
		return nil, err
	}
	mtu := int(p.GM.MTU)
	sizes := packetSizes(mtu)
	byRecv, fractions, mean, err := s.transitCost(p, gm.Image{ITB: true}, sizes)
	if err != nil {
		return nil, err
	}
	later, _, _, err := s.transitCost(p, gm.Image{ITB: true, Transit: transit.Options{BySend: true}}, sizes)
	if err != nil {
		return nil, err
	}
	short, long := 100*average(fractions, 1, shortest), 100*average(fractions, longest, float64(mtu))
	var more []plot.Point
	for i := range later {
		more = append(more, plot.Point{X: later[i].X, Y: later[i].Y - byRecv[i].Y})
	}
	// The end of a packet that has come before its beginning has left takes precedence over Send: see
	// docs/paper-itb.md.
	const cut = 200
	extra := average(more, cut, float64(mtu))
	dispatch := micros(p.CPU.Instruction.Time(p.Code.Poll + p.Code.Dispatch + p.ITB.Test))

	o.number("itb-cost", "mean cost of an in-transit buffer, up to a packet", mean, "us")
	o.number("itb-cost-send", "how much more it is if Send re-injects, from 200 B on", extra, "us")
	o.number("itb-cost-send-short", "and of messages up to 32 B", average(more, 1, shortest), "us")
	if s.goal("itb-cost") != nil {
		o.claim("it is about 10 % of short messages, and 3 % or less of those of a packet", "Coll et al.", short > 8 && short < 12 && long > 1 && long < 3,
			"%s %% up to %d B, %s %% from %d B on", figures(short), shortest, figures(long), longest)
	}
	o.claim("that Recv programs the send DMA saves a dispatch cycle", "Coll et al.", extra > 0.7*dispatch && extra < 1.3*dispatch,
		"%s µs saved; a dispatch with the test of the flag takes %s", figures(extra), figures(dispatch))
	if s.goal("itb-cost") != nil {
		if err := s.perturb(o); err != nil {
			return nil, err
		}
	}
	o.Figures = append(o.Figures,
		Figure{"cost", plot.Figure{
			Title: "Cost of an in-transit buffer, by size", Note: s.reproduce("itb-cost"),
			X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "time, µs"},
			Series: append([]plot.Series{{Name: "re-injection by Recv", Points: byRecv}, {Name: "by Send", Points: later}}, s.published(64, "itb-cost")...),
		}},
		Figure{"relative", plot.Figure{
			Title: "Cost of an in-transit buffer against the half round trip", Note: s.reproduce("itb-cost"),
			X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "part of the half round trip, %"},
			Series: []plot.Series{{Name: "re-injection by Recv", Points: times(fractions, 100)}},
		}})
	return o, nil
}

// transitCost returns what an in-transit buffer costs by the paper's method, in µs and as a fraction of the half round
// trip, and its mean in µs.
func (s *Setting) transitCost(p *gm.Profile, image gm.Image, sizes []int) (points, fractions []plot.Point, mean float64, err error) {
	looped, err := s.allsize(p, gmRun{image, (*gm.Testbed).Looped}, sizes)
	if err != nil {
		return nil, nil, 0, err
	}
	transit, err := s.allsize(p, gmRun{image, (*gm.Testbed).InTransit}, sizes)
	if err != nil {
		return nil, nil, 0, err
	}
	points, fractions, mean, _ = differences(looped, transit, 2)
	return points, fractions, mean, nil
}

// perturb claims that the cost grows with what it is made of, each constant changed by itself.
func (s *Setting) perturb(o *Outcome) error {
	sizes := []int{200, 333, 512, 700, 1111, 2048, 3001}
	mean := func(name, value, unit string) (float64, error) {
		p, err := s.gmProfile(name, value, unit)
		if err != nil {
			return 0, err
		}
		_, _, m, err := s.transitCost(p, gm.Image{ITB: true}, sizes)
		return m, err
	}
	base, err := mean("", "", "")
	if err != nil {
		return err
	}
	for _, c := range [][3]string{{"cpu.instruction", "33", "MHz"}, {"fabric.link.rate", "20", "MB/s"}, {"dispatcher.dispatch", "40", "count"}} {
		other, err := mean(c[0], c[1], c[2])
		if err != nil {
			return err
		}
		o.claim("it grows with "+c[0]+" = "+c[1]+" "+c[2], "", other > base, "%s instead of %s µs", figures(other), figures(base))
	}
	return nil
}
