package paper

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A study is simulations of flows on several topologies of each size.
type study struct {
	seed          uint64
	topologies    int       // of each size, with the seeds that follow seed
	warm, counted int       // messages of a host, on average, before those that are counted, and these
	few           int       // messages of a network that are counted at a low load; small networks have few in transit
	loads         []float64 // of sweeps before the bound of a flow, as fractions of it, ascending

	networks map[int][]*irregular // by the number of switches
	jobs     []func() error       // not done yet; they share nothing that they write to
}

// make makes the topologies of a size, before there are flows on them.
func (st *study) make(switches int) error {
	for i := range st.topologies {
		g, err := newIrregular(switches, st.seed+uint64(i)+1)
		if err != nil {
			return err
		}
		st.networks[switches] = append(st.networks[switches], g)
	}
	return nil
}

// run does the jobs, as many at once as there are processors. What they have come to depends on none of the others.
func (st *study) run() error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, job := range st.jobs {
		g.Go(job)
	}
	st.jobs = nil
	return g.Wait()
}

// quiet has a flow run under a low load.
func (st *study) quiet(f *flow, load float64) (*measured, error) {
	return f.run(load, st.few/10, st.few)
}

// least is how many messages of a network are counted at any load, at least.
const least = 1000

// busy has a flow run under any load.
func (st *study) busy(f *flow, load float64) (*measured, error) {
	hosts := len(f.topology.Hosts)
	return f.run(load, max(least/2, st.warm*hosts), max(least, st.counted*hosts))
}

// A sweep is a flow under growing loads.
type sweep struct {
	*flow
	points []*measured
}

// What a network accepts well beyond saturation: less than so much of what it is offered, or of the most that it has
// accepted, as packets that wait hold so many channels that less gets through.
const (
	ofOffered = 0.8
	ofMost    = 0.9
)

// sweep has a flow run under growing loads until it is well beyond saturation. The last load, if that comes, is the flow's
// bound: a sweep that ended before might say of the end of its loads that it is the saturation.
func (st *study) sweep(f *flow) *sweep {
	w := &sweep{flow: f}
	st.jobs = append(st.jobs, func() error {
		bound := f.bound()
		for _, fraction := range append(slices.Clone(st.loads), 1) {
			m, err := st.busy(f, fraction*bound)
			if err != nil {
				return err
			}
			w.points = append(w.points, m)
			if m.accepted < max(ofOffered*m.offered, ofMost*w.saturation()) {
				break
			}
		}
		return nil
	})
	return w
}

// saturation returns the largest load that was accepted, in bytes a nanosecond and switch.
func (w *sweep) saturation() (most float64) {
	for _, m := range w.points {
		most = max(most, m.accepted)
	}
	return most
}

// buffers returns how many packets in transit a host has had at once when the most was accepted.
func (w *sweep) buffers() (n int) {
	for _, m := range w.points {
		if m.accepted == w.saturation() {
			n = m.buffers
		}
	}
	return n
}

// later has a flow run under one load.
func (st *study) later(run func(*flow, float64) (*measured, error), f *flow, load float64) *measured {
	m := new(measured)
	st.jobs = append(st.jobs, func() error {
		got, err := run(f, load)
		if err == nil {
			*m = *got
		}
		return err
	})
	return m
}

// A rivalry is what both schemes come to on all topologies of a size.
type rivalry struct {
	upDown, inTransit []*sweep // by topology
}

// rivals sweeps both schemes.
func (st *study) rivals(switches int, c *fabric.Constants, transit vtime.Time, p *pattern, size int) *rivalry {
	r := new(rivalry)
	for _, g := range st.networks[switches] {
		r.upDown = append(r.upDown, st.sweep(newFlow(g, routing.UpDown, c, transit, p, size)))
		r.inTransit = append(r.inTransit, st.sweep(newFlow(g, routing.InTransit, c, transit, p, size)))
	}
	return r
}

// ratio returns the median over the topologies of how many times as much in-transit routes carry.
func (r *rivalry) ratio() float64 {
	return medianRatio(r.inTransit, r.upDown)
}

// medianRatio returns the median of the ratios of saturations, topology by topology.
func medianRatio(a, b []*sweep) float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i].saturation()/b[i].saturation())
	}
	return bench.Median(all)
}

// saturations returns those of sweeps.
func saturations(all []*sweep) (values []float64) {
	for _, w := range all {
		values = append(values, w.saturation())
	}
	return values
}

// student has the quantiles of Student's t distribution for 95 % intervals, by degrees of freedom from 1 on.
var student = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// interval returns the mean of 2 to 10 values and half of its 95 % confidence interval.
func interval(values []float64) (middle, half float64) {
	var m mean
	for _, v := range values {
		m.add(v)
	}
	var squares float64
	for _, v := range values {
		squares += (v - m.value()) * (v - m.value())
	}
	n := float64(len(values))
	return m.value(), student[len(values)-2] * math.Sqrt(squares/(n-1)/n)
}

// curve returns the mean latency over the topologies by the mean load that is accepted, up to saturation.
func curve(all []*sweep) (points []plot.Point) {
	for i := 0; ; i++ {
		var x, y mean
		for _, w := range all {
			if i == len(w.points) {
				return points
			}
			x.add(w.points[i].accepted)
			y.add(w.points[i].latency)
		}
		if last := len(points) - 1; last >= 0 && x.value() <= points[last].X {
			return points
		}
		points = append(points, plot.Point{X: x.value(), Y: y.value()})
	}
}
