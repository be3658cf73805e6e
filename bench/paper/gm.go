package paper

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// gmSuffix tells the published numbers of machines apart whose constants are fitted to those of another.
var gmSuffix = map[string]string{"gm-pci64b": "-b", "gm-pci64c": "-c"}

// roundTrips of a size are averaged by allsize: the paper found no difference between 100, 1000 and 10000.
const allsizeTrips = 100

// trips returns the number of round trips.
func (s *Setting) trips() int {
	if s.Full {
		return allsizeTrips
	}
	return 10
}

// packetSizes are sizes up to that of a packet, each by a sixteenth larger than the one before. Means over sizes are of
// these: they depend on how many of them are short.
func packetSizes(mtu int) (sizes []int) {
	for n := 1; n < mtu; n += 1 + n/16 {
		sizes = append(sizes, n)
	}
	return append(sizes, mtu)
}

// gmProfile returns the machine's constants, with one changed if name is not empty.
func (s *Setting) gmProfile(name, value, unit string) (*gm.Profile, error) {
	file := s.Machine
	if name != "" {
		var err error
		if file, err = file.With(name, value, unit); err != nil {
			return nil, err
		}
	}
	return gm.NewProfile(file)
}

// withoutErrors returns an experiment that has links make no errors, and a note that says so if the machine's do. The
// differences of few packets' times are no measure where one of the packets is sent again milliseconds later.
func withoutErrors(run func(*Setting) (*Outcome, error)) func(*Setting) (*Outcome, error) {
	return func(s *Setting) (*Outcome, error) {
		p, err := s.gmProfile("", "", "")
		if err != nil {
			return nil, err
		}
		e := p.Fabric.Error
		if max(e.Corrupt, e.Truncate, e.Lose) == 0 {
			return run(s)
		}
		file := s.Machine
		for _, name := range []string{"corrupt", "truncate", "lose"} {
			if file, err = file.With("fabric.error."+name, "0", "ppm"); err != nil {
				return nil, err
			}
		}
		file.Predictions = s.Machine.Predictions // what was published is about links without errors
		clean := *s
		clean.Machine = file
		o, err := run(&clean)
		if err == nil {
			o.note("The machine's links make errors (fabric.error); here they make none, as the time of a packet that is sent again would hide what is measured.")
		}
		return o, err
	}
}

// gmLatency runs GM's own tests between two hosts at a switch.
func gmLatency(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.gmProfile("", "", "")
	if err != nil {
		return nil, err
	}
	pair, err := gm.NewPair(p, gm.Image{}, s.Seed)
	if err != nil {
		return nil, err
	}
	suffix := gmSuffix[s.Machine.Name]
	sizes := []int{1, 8, 64, 128, 256, 512, 1024, 2048, 4096}
	var halves []plot.Point
	for _, size := range sizes {
		d, err := gm.HalfRoundTrip(pair.Simulation, pair.Hosts[0], pair.Hosts[1], size, s.trips())
		if err != nil {
			return nil, err
		}
		halves = append(halves, plot.Point{X: float64(size), Y: micros(d)})
	}
	there, back := [2]*gm.Host{pair.Hosts[0], pair.Hosts[1]}, [2]*gm.Host{pair.Hosts[1], pair.Hosts[0]}
	stream := func(pairs ...[2]*gm.Host) (points []plot.Point, err error) {
		for _, size := range []int{128, 256, 512, 1024, 2048, 4096, 16 << 10, 64 << 10} {
			rate, err := gm.Stream(pair.Simulation, size, 2*s.trips(), pairs...)
			if err != nil {
				return nil, err
			}
			points = append(points, plot.Point{X: float64(size), Y: rate})
		}
		return points, nil
	}
	one, err := stream(there)
	if err != nil {
		return nil, err
	}
	two, err := stream(there, back)
	if err != nil {
		return nil, err
	}
	peak := func(points []plot.Point) float64 {
		return slices.MaxFunc(points, func(a, b plot.Point) int { return compare(a.Y, b.Y) }).Y
	}
	if suffix != "" { // the paper's short messages are measured on its testbed: itb-overhead
		o.number("gm-short"+suffix, "half round trip of 8 bytes", valueAt(halves, 8), "us")
	} else {
		o.number("gm-short-switch", "half round trip of 8 bytes, through one switch", valueAt(halves, 8), "us")
	}
	o.number("gm-one-way"+suffix, "a stream one way", peak(one), "MB/s")
	o.number("gm-two-way"+suffix, "streams both ways, together", peak(two), "MB/s")
	o.number("gm-half-peak"+suffix, "size from which a stream has half of its peak rate", sizeAt(one, peak(one)/2), "B")
	if link := rateOf(p.Fabric.Link.Rate); s.goal("gm-short"+suffix) != nil { // another machine's bus or NIC may be slower than its link
		o.claim("large messages stream at more than nine tenths of the link's rate, the NIC keeps up", "", peak(one) > 0.9*link && peak(one) < link,
			"%s of %s MB/s", figures(peak(one)), figures(link))
	}
	o.Figures = append(o.Figures,
		Figure{"latency" + suffix, plot.Figure{
			Title: "GM: half round trip", Note: s.reproduce("gm-latency"),
			X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "half round trip, µs"},
			Series: append([]plot.Series{{Name: "half round trip", Points: halves}}, s.published(8, "gm-short"+suffix)...),
		}},
		Figure{"rate" + suffix, plot.Figure{
			Title: "GM: streams", Note: s.reproduce("gm-latency"),
			X: plot.Axis{Label: "bytes of a message", Scale: plot.Log2}, Y: plot.Axis{Label: "bandwidth, MB/s"},
			Series: append([]plot.Series{{Name: "one way", Points: one}, {Name: "both ways", Points: two}},
				s.published(64<<10, "gm-one-way"+suffix, "gm-two-way"+suffix)...),
		}})
	return o, nil
}

// rateOf returns a rate in MB/s.
func rateOf(r machine.Rate) float64 { return 1e9 / float64(r) }

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// sizeAt returns the size at which ascending points reach a value, by linear interpolation.
func sizeAt(points []plot.Point, y float64) float64 {
	for i, p := range points {
		if p.Y >= y && i > 0 {
			q := points[i-1]
			return q.X + (p.X-q.X)*(y-q.Y)/(p.Y-q.Y)
		}
	}
	return points[0].X
}

// A gmRun is an image of the control program with routes on the paper's testbed.
type gmRun struct {
	image  gm.Image
	routes func(*gm.Testbed) error
}

// allsize returns the half round trips of sizes on the paper's testbed, in µs.
func (s *Setting) allsize(p *gm.Profile, r gmRun, sizes []int) ([]plot.Point, error) {
	bed, err := gm.NewTestbed(p, r.image, s.Seed)
	if err != nil {
		return nil, err
	}
	if err := r.routes(bed); err != nil {
		return nil, err
	}
	points := make([]plot.Point, len(sizes))
	for i, size := range sizes {
		d, err := bed.HalfRoundTrip(size, s.trips())
		if err != nil {
			return nil, fmt.Errorf("%d B: %w", size, err)
		}
		points[i] = plot.Point{X: float64(size), Y: micros(d)}
	}
	return points, nil
}

// differences returns factor times what b has more than a, and its mean and largest value; and the same as
// fractions of a.
func differences(a, b []plot.Point, factor float64) (points, fractions []plot.Point, mean, largest float64) {
	for i := range a {
		d := factor * (b[i].Y - a[i].Y)
		points = append(points, plot.Point{X: a[i].X, Y: d})
		fractions = append(fractions, plot.Point{X: a[i].X, Y: d / a[i].Y})
		mean += d / float64(len(a))
		largest = max(largest, d)
	}
	return points, fractions, mean, largest
}

// average returns the mean of the points from one x to another.
func average(points []plot.Point, from, to float64) (mean float64) {
	n := 0.0
	for _, p := range points {
		if p.X >= from && p.X <= to {
			mean += p.Y
			n++
		}
	}
	return mean / n
}

// even returns the mean of ascending points where every x counts alike, and not every point.
func even(points []plot.Point) (mean float64) {
	first, last := points[0].X, points[len(points)-1].X
	for i, p := range points[1:] {
		mean += (points[i].Y + p.Y) / 2 * (p.X - points[i].X) / (last - first)
	}
	return mean
}

// times returns points with another unit.
func times(points []plot.Point, factor float64) []plot.Point {
	var all []plot.Point
	for _, p := range points {
		all = append(all, plot.Point{X: p.X, Y: factor * p.Y})
	}
	return all
}
