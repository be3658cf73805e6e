package paper

import (
	"math"
	"slices"
	"strings"
	"testing"

	_ "github.com/aqueduct-go/aqueduct" // registers the conduits
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// loopback is the smallest modelled network: a latency and a rate.
func loopback() *Setting {
	return &Setting{Conduit: "loopback", Machine: &machine.File{Name: "loopback"}, Seed: 1}
}

// grain is what a poll of the modelled loopback takes, in microseconds: times may be off by
// one at each end.
const grain = 0.011

// TestRoundTrips measures a network whose latency and rate are known.
func TestRoundTrips(t *testing.T) {
	measure := func(kind core.Kind, latency string, ranks int, sizes ...int) []plot.Point {
		t.Helper()
		r := roundTrips{kind: kind, sizes: sizes, ranks: ranks, repeats: 4}
		r.config.Settings = map[string]string{"latency": latency, "rate": "1e8"}
		r.config.Segment = "65536"
		points, err := r.points(loopback())
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	for _, kind := range []core.Kind{core.Short, core.Medium, core.Long} {
		one, three := measure(kind, "1us", 2, 0), measure(kind, "3us", 8, 0)
		if d := three[0].Y - one[0].Y; math.Abs(d-2) > grain {
			t.Errorf("%v: 2 µs more latency make %g µs", kind, d)
		}
		if kind == core.Short {
			continue
		}
		l := leastSquares(measure(kind, "1us", 2, 0, 1000, 2000, 5000))
		if math.Abs(l.slope-0.01) > 1e-5 || l.intercept < 1 {
			t.Errorf("%v: at 10 ns per byte a byte takes %g µs, none %g µs", kind, l.slope, l.intercept)
		}
	}
}

// TestRoundTripsFail wants the reason.
func TestRoundTripsFail(t *testing.T) {
	r := roundTrips{kind: core.Medium, sizes: []int{1 << 30}, ranks: 2, repeats: 1}
	if _, err := r.points(loopback()); err == nil || !strings.Contains(err.Error(), "1073741824 bytes") {
		t.Errorf("a Medium of a gigabyte: %v", err)
	}
	r = roundTrips{ranks: 2, repeats: 1, config: core.Config{Settings: map[string]string{"fly": "1"}}}
	if _, err := r.points(loopback()); err == nil || !strings.Contains(err.Error(), "fly") {
		t.Errorf("an unknown setting: %v", err)
	}
}

// TestGrowth runs every collective on growing jobs: on a network without contention all but
// random updates follow the formula closely.
func TestGrowth(t *testing.T) {
	l := &layout{Setting: loopback(), ranks: []int{2, 4, 8, 32}}
	for i := range collectives {
		c := &collectives[i]
		points, err := l.times(c, l.ranks, new(Outcome))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(points, func(a, b cost.Point) int { return int(a.End - b.End) }) {
			t.Errorf("%s: more ranks take less time: %v", c.name, points)
		}
		f := cost.Formula{A: float64(points[0].End), Scan: func(int) float64 { return 0 }}
		for _, p := range points {
			if off := float64(p.End)/f.Time(p.Ranks) - 1; math.Abs(off) > 0.1 || f.A < float64(vtime.Microsecond) {
				t.Errorf("%s: with a = %g ps off by %.1f %%: %v", c.name, f.A, 100*off, p)
			}
		}
	}
	o, told := new(Outcome), 0
	l.Progress = func(Cost) { told++ }
	points, err := l.times(&updates, l.ranks, o)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.times(&updates, l.ranks, new(Outcome)); err != nil || !slices.Equal(points, again) {
		t.Errorf("%v, then %v, %v", points, again, err)
	}
	l.Seed++
	if other, err := l.times(&updates, l.ranks, new(Outcome)); err != nil || slices.Equal(points, other) {
		t.Errorf("another seed makes the same updates: %v, %v", other, err)
	}
	if told != 3*len(l.ranks) {
		t.Errorf("told of %d jobs, want %d", told, 3*len(l.ranks))
	}
	if len(o.Costs) != len(l.ranks) || o.Costs[0].Ranks != 2 || o.Costs[0].Bytes == 0 {
		t.Errorf("costs %+v", o.Costs)
	}
}

// TestSchedules has schedules alone follow the formula that gives them their constants.
func TestSchedules(t *testing.T) {
	l := &layout{Setting: loopback(), ranks: []int{16}, most: 1 << 12}
	f := cost.Formula{A: 5e6, B: 1e3, Scan: func(ranks int) float64 { return float64(ranks) }}
	for i := range collectives {
		s, err := schedules(&collectives[i], f, l, new(Outcome))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Points {
			if want := f.Time(int(p.X)) / 1e6; math.Abs(p.Y-want) > 0.001*want {
				t.Errorf("%s: %g ranks take %g µs, by the formula %g", collectives[i].name, p.X, p.Y, want)
			}
		}
		if n := len(s.Points); n != 3 {
			t.Errorf("%s: %d points", collectives[i].name, n)
		}
	}
}

func TestLeastSquares(t *testing.T) {
	l := leastSquares([]plot.Point{{X: 0, Y: 3}, {X: 1, Y: 5}, {X: 2, Y: 7}})
	if math.Abs(l.intercept-3) > 1e-12 || math.Abs(l.slope-2) > 1e-12 {
		t.Errorf("%+v", l)
	}
	// Deviations that cancel: the line stays.
	l = leastSquares([]plot.Point{{X: -1, Y: 2}, {X: -1, Y: 0}, {X: 1, Y: 4}, {X: 1, Y: 2}})
	if math.Abs(l.intercept-2) > 1e-12 || math.Abs(l.slope-1) > 1e-12 {
		t.Errorf("%+v", l)
	}
}

func TestCrossing(t *testing.T) {
	a := []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 2}, {X: 4, Y: 4}}
	for _, c := range []struct {
		b  []float64
		x  float64
		ok bool
	}{
		{[]float64{3, 3, 3}, 3, true},
		{[]float64{0, 0, 0}, 1, true},
		{[]float64{5, 5, 5}, 0, false},
		{[]float64{0, 3, 3}, 3, true}, // ahead at first, behind, and ahead for good
		{[]float64{2, 2, 3}, 2, true},
	} {
		var b []plot.Point
		for i, y := range c.b {
			b = append(b, plot.Point{X: a[i].X, Y: y})
		}
		if x, ok := crossing(a, b); ok != c.ok || math.Abs(x-c.x) > 1e-12 {
			t.Errorf("%v: %g, %v; want %g, %v", c.b, x, ok, c.x, c.ok)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {5, "5"}, {1 << 20, "1048576"}, {0.1 - 1e-17, "0.1000"}, {0.09999999, "0.1000"}, {3.16049, "3.160"}, {-12345.6, "-12346"}, {0.00123456, "0.001235"}} {
		if got := figures(c.v); got != c.want {
			t.Errorf("%g: %s, want %s", c.v, got, c.want)
		}
	}
}

// TestFlatAgainstSummaryFlags compares what the flags alone make of a barrier: flat, every rank
// adds a word to the scan of every round, with summary flags none does.
func TestFlatAgainstSummaryFlags(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	s, err := SCI.Setting("scale")
	if err != nil {
		t.Fatal(err)
	}
	list, err := layouts(s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	summary, flat := &list[1], &list[2]
	more := func(ranks int) vtime.Time { // that a round takes with flat flags
		var took [2]vtime.Time
		for i, l := range []*layout{summary, flat} {
			points, err := l.times(&collectives[0], []int{ranks}, new(Outcome))
			if err != nil {
				t.Fatal(err)
			}
			took[i] = points[0].End
		}
		return (took[1] - took[0]) / vtime.Time(cost.Rounds(ranks, 2))
	}
	const few, many = 32, 128
	got, want := more(many)-more(few), (many-few)*flat.profile.Host.Scan
	t.Logf("from %d to %d ranks a round takes %v more with flat flags, their words alone %v", few, many, got, want)
	if got < want/2 || got > 2*want {
		t.Errorf("from %d to %d ranks a round takes %v more with flat flags; their words take %v", few, many, got, want)
	}
}

// TestWarm has ranks that connect when they first send make all connections before they are timed,
// for every collective and a ring, and refuses what has not.
func TestWarm(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	s, err := SCI.Setting(scaleMachine)
	if err != nil {
		t.Fatal(err)
	}
	ring := collectives[2]
	ring.forms = "allreduce=ring"
	for _, c := range append(slices.Clone(collectives), ring, updates) {
		for _, n := range []int{4, 8} {
			if _, err := c.run(s, n, new(Outcome)); err != nil {
				t.Errorf("%s (%s) of %d ranks: %v", c.name, c.forms, n, err)
			}
		}
	}
	other := core.Rank(0)
	wanders := collective{name: "another one in every call", do: func(m *member) error {
		other++ // by all ranks together
		want := m.answers + 1
		if err := m.ep.Core().RequestShort(other%16, onWord, 0, 0, 0); err != nil {
			return err
		}
		return m.ep.Core().WaitUntil(func() bool { return m.answers >= want })
	}}
	if _, err := wanders.run(s, 16, new(Outcome)); err == nil || !strings.Contains(err.Error(), "something was set up at") {
		t.Errorf("ranks that connect while they are timed: %v", err)
	}
	err = s.raw([2]func(*rawNode) error{
		func(n *rawNode) error {
			n.timed.begin(n)
			defer n.timed.end(n)
			_, err := n.remote.Map(0, rawSegment, 0)
			return err
		},
		func(*rawNode) error { return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "something was set up at") {
		t.Errorf("a node that maps while it is timed: %v", err)
	}
	if err := s.job(2, small, new(window), func(*core.Job) error { return nil }); err == nil || !strings.Contains(err.Error(), "nothing was timed") {
		t.Errorf("a job in which nothing is timed: %v", err)
	}
}

// TestUpdatesAreWarm compares random updates on connections made at the first use with those on
// connections made at the start. At few ranks one layout has nothing over the other.
func TestUpdatesAreWarm(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	s, err := SCI.Setting(scaleMachine)
	if err != nil {
		t.Fatal(err)
	}
	list, err := layouts(s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const ranks = 16
	var took [2]vtime.Time
	for i, l := range list[1:] {
		points, err := l.times(&updates, []int{ranks}, new(Outcome))
		if err != nil {
			t.Fatal(err)
		}
		took[i] = points[0].End
	}
	if ratio := float64(took[0]) / float64(took[1]); ratio < 0.8 || ratio > 1.25 {
		t.Errorf("%d ranks take %v, connected at the first use, and %v, connected at the start", ranks, took[0], took[1])
	}
}

// TestClaimTransfers wants two transfers of a Medium to be ahead but for a little at small sizes.
func TestClaimTransfers(t *testing.T) {
	series := func(ys ...float64) (points []plot.Point) {
		for i, y := range ys {
			points = append(points, plot.Point{X: float64(64 * (i + 1)), Y: y})
		}
		return points
	}
	for _, c := range []struct {
		two   []float64
		holds bool
	}{
		{[]float64{0.99, 0.98, 0.97, 0.9}, true},
		{[]float64{1.01, 0.98, 0.97, 0.9}, true},
		{[]float64{1.03, 0.98, 0.97, 0.9}, false},  // too far behind
		{[]float64{1.01, 1.01, 0.97, 0.9}, false},  // for too long
		{[]float64{0.99, 0.98, 0.97, 1.01}, false}, // at the end
	} {
		o := new(Outcome)
		o.claimTransfers(series(c.two...), series(1, 1, 1, 1))
		if o.Claims[0].Holds != c.holds {
			t.Errorf("%v times as long: %+v", c.two, o.Claims[0])
		}
	}
}

// TestByDMA wants raw DMA compared with those Longs alone that go by DMA.
func TestByDMA(t *testing.T) {
	points := byDMA([]plot.Point{{X: 512}, {X: mostMedium}, {X: mostMedium + 8}, {X: 4096}})
	if len(points) != 2 || points[0].X != mostMedium+8 {
		t.Errorf("by DMA: %v", points)
	}
}

// TestClaimRoom wants claims that can fail: one segment for all has to be slower, and by more with more
// senders.
func TestClaimRoom(t *testing.T) {
	series := func(ys ...float64) (points []plot.Point) {
		for i, y := range ys {
			points = append(points, plot.Point{X: float64(i + 1), Y: y})
		}
		return points
	}
	own := series(1, 1, 1)
	for _, c := range []struct {
		shared []plot.Point
		holds  [3]bool
	}{
		{series(2, 3, 5), [3]bool{true, true, true}},
		{series(2, 3, 3.9), [3]bool{true, true, false}}, // does not become worse by much
		{series(2, 6, 5), [3]bool{true, true, false}},   // or not by the number
		{series(0.5, 3, 5), [3]bool{false, false, true}},
	} {
		o := new(Outcome)
		o.claimRoom(own, c.shared, own, c.shared)
		for i, holds := range c.holds {
			if o.Claims[i].Holds != holds {
				t.Errorf("%v: %+v", c.shared, o.Claims[i])
			}
		}
	}
}

// TestGathering wants all messages to come in both layouts, and one that comes otherwise than it was
// sent to be noticed.
func TestGathering(t *testing.T) {
	s, err := SCI.Setting("d339")
	if err != nil {
		t.Fatal(err)
	}
	for _, shared := range []bool{false, true} {
		g := &gathering{senders: 3, each: 7, shared: shared}
		if took, err := g.run(s); err != nil || took <= 0 || g.looking <= 0 {
			t.Errorf("shared %v: %v, looking for room %v, %v", shared, took, g.looking, err)
		}
	}
	g := &gathering{senders: 2, each: 3, sum: 1}
	if _, err := g.run(s); err == nil || !strings.Contains(err.Error(), "overwritten") {
		t.Errorf("a message that came otherwise than it was sent: %v", err)
	}
}
