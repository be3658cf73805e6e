package paper

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// scaling measures how collectives grow with the number of ranks.
func scaling(s *Setting) (*Outcome, error) {
	dir, err := os.MkdirTemp("", "aqbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// Nearly all memory of a large job is in use until its end: what the collector leaves lying
	// about is to be no more than half of that.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	list, err := layouts(s, dir)
	if err != nil {
		return nil, err
	}
	o := new(Outcome)
	for i := range collectives {
		if err := o.growth(s, &collectives[i], list); err != nil {
			return nil, err
		}
	}
	return o, o.gups(s, list)
}

// growth adds the figure of a collective: for each layout its times, and the formula that
// they would follow without contention.
func (o *Outcome) growth(s *Setting, c *collective, list []layout) error {
	figure := plot.Figure{
		Title: "Growth of " + c.forms,
		Note:  s.reproduce("sci-scaling"),
		X:     plot.Axis{Label: "ranks", Scale: plot.Log2},
		Y:     plot.Axis{Label: "time of a call, µs", Scale: plot.Log10},
	}
	for i := range list {
		l := &list[i]
		points, err := l.times(c, l.ranks, o)
		if err != nil {
			return err
		}
		formula := l.formula(points[0].End)
		o.claimBound(c, l, formula, points)
		figure.Series = append(figure.Series, growthSeries(l.name, points), l.formulaSeries(formula))
		if l.most > 0 {
			alone, err := schedules(c, formula, l, o)
			if err != nil {
				return err
			}
			figure.Series = append(figure.Series, alone)
		}
	}
	o.Figures = append(o.Figures, Figure{c.name, figure})
	return nil
}

// times runs the collective at numbers of ranks.
func (l *layout) times(c *collective, ranks []int, o *Outcome) ([]cost.Point, error) {
	var points []cost.Point
	for _, n := range ranks {
		t, err := c.run(l.Setting, n, o)
		if err != nil {
			return nil, err
		}
		points = append(points, cost.Point{Ranks: n, Result: cost.Result{End: t}})
	}
	return points, nil
}

// boundSlack is how far below the formula a time may be: as much as a poll's grain. Two ranks, which
// give the formula its a, find a flag in one phase of their polls, and others in another phase.
const boundSlack = 0.02

// claimBound adds that no number of ranks takes less than the formula less boundSlack, and by how
// much contention and distance make it slower.
func (o *Outcome) claimBound(c *collective, l *layout, f cost.Formula, points []cost.Point) {
	least, most := math.Inf(1), 0.0
	for _, p := range points {
		ratio := float64(p.End) / f.Time(p.Ranks)
		least, most = min(least, ratio), max(most, ratio)
	}
	o.claim(fmt.Sprintf("%s, %s: ⌈log₂ P⌉·(a + b·words(P)) less %g %% is a lower bound", c.name, l.name, 100*boundSlack), "",
		least >= 1-boundSlack, "a = %s µs, b = %v; with contention and distance %.3f to %.3f times as long, up to %d ranks",
		figures(f.A/float64(vtime.Microsecond)), l.profile.Host.Scan, least, most, points[len(points)-1].Ranks)
}

func growthSeries(name string, points []cost.Point) plot.Series {
	s := plot.Series{Name: name}
	for _, p := range points {
		s.Points = append(s.Points, plot.Point{X: float64(p.Ranks), Y: micros(p.End)})
	}
	return s
}

func (l *layout) formulaSeries(f cost.Formula) plot.Series {
	s := plot.Series{Name: l.name + ": formula", Kind: plot.Formula}
	for _, n := range powers(2, max(l.most, l.ranks[len(l.ranks)-1])) {
		s.Points = append(s.Points, plot.Point{X: float64(n), Y: f.Time(n) / float64(vtime.Microsecond)})
	}
	return s
}

// schedules runs the collective's schedules alone, on a cost model with the formula's
// constants, which does not know contention either: every message of up to millions of
// ranks, but no rank that executes.
func schedules(c *collective, f cost.Formula, l *layout, o *Outcome) (plot.Series, error) {
	forced, err := coll.ParseForced(c.forms)
	if err != nil {
		return plot.Series{}, err
	}
	var points []cost.Point
	for n := l.ranks[len(l.ranks)-1]; n <= l.most; n *= 16 {
		model := cost.LogGP{Latency: vtime.Time(f.A), RecvOverhead: vtime.Time(f.B * f.Scan(n))}
		start := time.Now()
		p, err := cost.Growth(c.call, forced[c.call.Op], model, []int{n})
		if err != nil {
			return plot.Series{}, err
		}
		l.cost(o, c.name+", schedules alone", n, start)
		points = append(points, p...)
	}
	return growthSeries("schedules alone", points), nil
}

// stagesFrom16 explains what the figure of random updates shows between 8 and 16 ranks.
const stagesFrom16 = "On the machine scale up to 8 hosts are at one switch, and 16 at a network of several stages, which every message and its answer pass: hence the smaller step from 8 to 16 ranks. "

// gups adds the figure of random updates.
func (o *Outcome) gups(s *Setting, list []layout) error {
	figure := plot.Figure{
		Title: fmt.Sprintf("Random updates: %d by every rank, a Short each", updatesEach),
		Note:  stagesFrom16 + s.reproduce("sci-scaling"),
		X:     plot.Axis{Label: "ranks", Scale: plot.Log2},
		Y:     plot.Axis{Label: "updates per µs, all ranks together", Scale: plot.Log10},
	}
	for i := range list {
		l := &list[i]
		points, err := l.times(&updates, l.ranks, o)
		if err != nil {
			return err
		}
		series := plot.Series{Name: l.name}
		for _, p := range points {
			series.Points = append(series.Points, plot.Point{X: float64(p.Ranks), Y: float64(p.Ranks*updatesEach) / micros(p.End)})
		}
		figure.Series = append(figure.Series, series)
	}
	o.Figures = append(o.Figures, Figure{updates.name, figure})
	return nil
}
