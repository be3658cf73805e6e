package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// usual is the size of messages that what is published is about where it names none.
const usual = 512

// simulatedCost is the time of an in-transit buffer in the published simulations: 275 ns to detect the packet, 200 ns to
// program the DMA engine.
const simulatedCost = 475 * vtime.Nanosecond

// What is compared at equal loads: at a low one, a fraction of what the busiest channel of up*/down* routes could carry,
// and near the saturation of up*/down* routes, a fraction of that.
const (
	lowLoad  = 0.05
	nearLoad = 0.9
)

// A throughput is the experiment itb-throughput.
type throughput struct {
	*study
	*Setting
	constants *fabric.Constants
	transit   vtime.Time // the time of an in-transit buffer
	switches  []int
	messages  []int
	patterns  []*pattern
	varied    []int // switches of the networks whose constants are varied
	variants  []*variant

	rivals  map[rivals]*rivalry
	cheap   map[int][]*sweep            // with the simulated cost, by switches
	variant map[string]map[int]*rivalry // with other constants, by switches
	low     map[[2]int][]*[2]*measured  // by switches and message: both schemes, by topology
	near    map[int][]*[2]*measured     // by switches
}

// rivals is what a rivalry is about.
type rivals struct {
	switches int
	pattern  *pattern
	size     int
}

// itbThroughput compares up*/down* routes with minimal ones through in-transit hosts under growing loads.
func itbThroughput(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.gmProfile("", "", "")
	if err != nil {
		return nil, err
	}
	cabling, err := fabric.Shape{Hosts: hostsEach}.Random(8, s.Seed+1) // all topologies have the same cables
	if err != nil {
		return nil, err
	}
	if err := p.Fabric.CheckFor(cabling); err != nil {
		return nil, fmt.Errorf("machine %s: %w", s.Machine.Name, err)
	}
	others := variants(&p.Fabric, cabling, s.Full, o)
	_, _, cost, err := s.transitCost(p, gm.Image{ITB: true}, packetSizes(int(p.GM.MTU)))
	if err != nil {
		return nil, err
	}
	if cost < 0 {
		return nil, fmt.Errorf("machine %s: an in-transit buffer costs %s µs by the method of itb-cost; a network needs a time of 0 or more", s.Machine.Name, figures(cost))
	}
	t := &throughput{
		variants: others,
		study:    &study{seed: s.Seed, topologies: 3, warm: 4, counted: 7, few: 2000, loads: []float64{0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9}, networks: map[int][]*irregular{}},
		Setting:  s, constants: &p.Fabric, transit: vtime.Time(cost * float64(vtime.Microsecond)),
		switches: []int{8, 32, 64}, messages: []int{usual}, patterns: []*pattern{uniform}, varied: []int{32},
		rivals: map[rivals]*rivalry{}, cheap: map[int][]*sweep{}, variant: map[string]map[int]*rivalry{},
		low: map[[2]int][]*[2]*measured{}, near: map[int][]*[2]*measured{},
	}
	if s.Full {
		t.topologies, t.warm, t.counted, t.few = judged, 8, 16, 10000
		t.loads = []float64{0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9}
		t.switches, t.messages, t.patterns, t.varied = []int{8, 16, 32, 64}, []int{32, usual, 1024}, patterns, []int{32, 64}
	}
	if err := t.simulate(); err != nil {
		return nil, err
	}
	t.report(o)
	if s.goal("itb-cost") != nil { // claims are about the published machine alone
		t.claims(o)
	}
	t.figures(o)
	o.number("itb-time", "the time of an in-transit buffer in all this, the mean of itb-cost", cost, "us")
	return o, nil
}

// simulate has everything run: what saturates first, and then what is compared at loads that follow from that.
func (t *throughput) simulate() error {
	for _, n := range slices.Backward(t.switches) { // what takes longest first
		if err := t.make(n); err != nil {
			return err
		}
		for _, p := range t.patterns {
			for _, size := range t.messages {
				t.rivals[rivals{n, p, size}] = t.study.rivals(n, t.constants, t.transit, p, size)
			}
		}
		for _, w := range t.of(n).inTransit {
			t.cheap[n] = append(t.cheap[n], t.sweep(newFlow(w.irregular, w.scheme, t.constants, simulatedCost, uniform, usual)))
		}
	}
	for _, v := range t.variants {
		t.variant[v.name] = map[int]*rivalry{}
		for _, n := range t.varied {
			t.variant[v.name][n] = t.study.rivals(n, &v.constants, t.transit, uniform, usual)
		}
	}
	if err := t.run(); err != nil {
		return err
	}
	for _, n := range t.switches {
		for _, size := range []int{32, usual, 1024} {
			t.low[[2]int{n, size}] = t.both(t.quiet, n, size, func(upDown *sweep) float64 { return lowLoad * upDown.bound() })
		}
		t.near[n] = t.both(t.busy, n, usual, func(upDown *sweep) float64 { return nearLoad * upDown.saturation() })
	}
	return t.run()
}

// both has both schemes run at a load that follows from the sweep of up*/down* routes, on all topologies of a size.
func (t *throughput) both(run func(*flow, float64) (*measured, error), switches, size int, load func(upDown *sweep) float64) (all []*[2]*measured) {
	for _, w := range t.rivals[rivals{switches, uniform, usual}].upDown {
		pair := new([2]*measured)
		for scheme := range pair {
			pair[scheme] = t.later(run, newFlow(w.irregular, routing.Scheme(scheme), t.constants, t.transit, uniform, size), load(w))
		}
		all = append(all, pair)
	}
	return all
}

// A variant has constants that nobody has published changed by half.
type variant struct {
	name      string
	constants fabric.Constants
}

// variants returns those that a network with the cables of a topology can have. A note says which one it cannot have: a
// smaller slack buffer must still take what is under way on a cable after STOP.
func variants(constants *fabric.Constants, cabling *fabric.Topology, full bool, o *Outcome) (all []*variant) {
	halves := []int{1, 3}
	if !full {
		halves = halves[:1]
	}
	add := func(name string, change func(*fabric.Constants)) {
		v := &variant{name, *constants}
		change(&v.constants)
		if err := v.constants.CheckFor(cabling); err != nil {
			o.note("Left out: %s. %v", name, err)
			return
		}
		all = append(all, v)
	}
	for _, half := range halves {
		sign := map[int]string{1: "−", 3: "+"}[half]
		add("slack buffers "+sign+"50 %", func(c *fabric.Constants) {
			above := c.Slack.Size - c.Slack.Stop
			between := (c.Slack.Stop - c.Slack.Go) * half / 2
			c.Slack.Size = c.Slack.Size * half / 2
			if c.Slack.Size <= above { // there is no room for a STOP as far from the end: all is in proportion
				c.Slack.Stop, c.Slack.Go = c.Slack.Stop*half/2, c.Slack.Go*half/2
				return
			}
			c.Slack.Stop = c.Slack.Size - above
			c.Slack.Go = max(0, c.Slack.Stop-between)
		})
		add("switch delays "+sign+"50 %", func(c *fabric.Constants) {
			for _, d := range []*vtime.Time{&c.Switch.SAN, &c.Switch.Mixed, &c.Switch.LAN} {
				*d = *d * vtime.Time(half) / 2
			}
		})
	}
	return all
}

// of returns the rivalry of a size under the traffic that the claims are about.
func (t *throughput) of(switches int) *rivalry { return t.rivals[rivals{switches, uniform, usual}] }

// effect returns by what fraction saturation of in-transit routes changes if the buffer costs what it does on the modelled
// machine and not what simulations had.
func (t *throughput) effect(switches int) float64 {
	return medianRatio(t.of(switches).inTransit, t.cheap[switches]) - 1
}

// penalty returns the median over topologies of how much more time messages take at low load on in-transit routes, as a
// fraction: all of them, or those that are in transit; NaN if none are.
func (t *throughput) penalty(switches, size int, of func(*measured) float64) float64 {
	var all []float64
	for _, pair := range t.low[[2]int{switches, size}] {
		if before := of(pair[routing.UpDown]); before > 0 {
			all = append(all, of(pair[routing.InTransit])/before-1)
		}
	}
	return bench.Median(all)
}

func ofAll(m *measured) float64       { return m.latency }
func ofInTransit(m *measured) float64 { return m.detour }

// middle returns the median over topologies of something that was measured near the saturation of up*/down* routes.
func (t *throughput) middle(switches int, scheme routing.Scheme, of func(*measured) float64) float64 {
	var all []float64
	for _, pair := range t.near[switches] {
		all = append(all, of(pair[scheme]))
	}
	return bench.Median(all)
}

func ofRoot(m *measured) float64    { return m.root / m.all }
func ofBlocked(m *measured) float64 { return m.blocked }

// A survey says what routes are like: means over all pairs of hosts of all topologies of a size.
type survey struct {
	switches float64 // that a route passes, once each
	minimal  float64 // share of routes that are
	stops    float64 // in-transit hosts of a route
	transit  float64 // share of routes that have any
}

func (t *throughput) survey(switches int, scheme routing.Scheme) survey {
	var length, minimal, stops, transit mean
	for _, g := range t.networks[switches] {
		g.tables[scheme].Each(func(from, to int, r routing.Route) {
			n := r.Switches() - (len(r) - 1) // the switch of an in-transit host is passed twice
			length.add(float64(n))
			minimal.add(one(n == g.tables[routing.Shortest].Route(from, to).Switches()))
			stops.add(float64(len(r) - 1))
			transit.add(one(len(r) > 1))
		})
	}
	return survey{length.value(), minimal.value(), stops.value(), transit.value()}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// report adds the numbers of each size.
func (t *throughput) report(o *Outcome) {
	for _, n := range t.switches {
		name := func(what string) string { return fmt.Sprintf("itb-%s-%d", what, n) }
		r := t.of(n)
		o.number(name("ratio"), fmt.Sprintf("saturation at %d switches, in-transit to up*/down*: median of the topologies", n), r.ratio(), "count")
		for scheme, all := range [][]*sweep{r.upDown, r.inTransit} {
			which := [...]string{"up-down", "in-transit"}[scheme]
			middle, half := interval(saturations(all))
			o.number(name("saturation-"+which), "saturation throughput, mean", middle, "B/ns/switch")
			o.number(name("interval-"+which), "half of its 95 % confidence interval", half, "B/ns/switch")
			v := t.survey(n, routing.Scheme(scheme))
			o.number(name("switches-"+which), "switches on a route, mean", v.switches, "count")
			o.number(name("minimal-"+which), "share of routes that are minimal", v.minimal, "count")
			o.number(name("root-"+which), "use of channels at the root, of one between switches on average, near the saturation of up*/down*", t.middle(n, routing.Scheme(scheme), ofRoot), "count")
			o.number(name("blocked-"+which), "time that a message is blocked, at the same load", t.middle(n, routing.Scheme(scheme), ofBlocked), "us")
		}
		v := t.survey(n, routing.InTransit)
		o.number(name("stops"), "in-transit hosts of a route, mean", v.stops, "count")
		o.number(name("share"), "share of routes that have any", v.transit, "count")
		buffers := 0
		for _, w := range r.inTransit {
			buffers = max(buffers, w.buffers())
		}
		o.number(name("buffers"), "packets in transit that a host has had at once at saturation, at most", float64(buffers), "count")
		o.number(name("penalty"), fmt.Sprintf("more latency at low load, messages of %d B", usual), t.penalty(n, usual, ofAll), "count")
		if p := t.penalty(n, usual, ofInTransit); !math.IsNaN(p) {
			o.number(name("penalty-transit"), "the same, of messages in transit", p, "count")
		}
		o.number(name("effect"), "change of saturation by itb-time, what the model's in-transit buffer costs on this machine, instead of the 0.475 us of simulations", t.effect(n), "count")
	}
}

// claims adds what was published, and the gates that follow from it.
func (t *throughput) claims(o *Outcome) {
	const abstracts = "Flich et al., abstracts: doubled on medium and large networks; the gate is ours"
	first, last := t.switches[0], t.switches[len(t.switches)-1]
	var ratios []string
	enough, growing, before := true, true, 0.0
	for _, n := range t.switches {
		ratio := t.of(n).ratio()
		ratios = append(ratios, fmt.Sprintf("%s at %d", figures(ratio), n))
		enough = enough && (n < 32 || ratio >= 1.7)
		growing = growing && ratio > before
		before = ratio
	}
	o.claim("in-transit buffers carry 1.7 times as much as up*/down* or more at 32 and 64 switches, uniform traffic", abstracts, enough, "%s switches", list(ratios...))
	o.claim("the gain grows with the number of switches", "Coll et al.: non-minimal ways and imbalance grow", growing, "%s switches", list(ratios...))
	o.claim("at 8 switches they carry 0.95 times as much or more", "", t.of(first).ratio() >= 0.95, "%s", ratios[0])
	t.claimEffect(o)
	t.claimPenalty(o)
	t.claimCauses(o, last)
	var shown []string
	worst := math.Inf(1)
	for _, v := range t.variants {
		for _, n := range t.varied {
			ratio := t.variant[v.name][n].ratio()
			shown = append(shown, fmt.Sprintf("%s with %s at %d", figures(ratio), v.name, n))
			worst = min(worst, ratio)
		}
	}
	if len(shown) > 0 {
		o.claim("1.7 times as much also with other slack buffers and switch delays", "", worst >= 1.7, "%s switches", list(shown...))
	}
}

// list joins what is shown of each size of the networks.
func list(all ...string) string { return strings.Join(all, ", ") }

// claimPenalty adds what in-transit buffers cost at a low load. The paper speaks of the messages that use them: "the message
// latency increase for messages that use the ITB mechanism" (abstract), a cost for each buffer. So these are judged. What the mean
// of all messages comes to depends on how many are in transit, too; a note tells it.
func (t *throughput) claimPenalty(o *Outcome) {
	var sizes, networks, all []string
	shorter, larger := true, true
	last := math.Inf(1) // of the network before
	for _, n := range t.switches {
		a, b, c := t.penalty(n, 32, ofInTransit), t.penalty(n, usual, ofInTransit), t.penalty(n, 1024, ofInTransit)
		all = append(all, fmt.Sprintf("%.1f %% (%.0f %%) at %d", 100*t.penalty(n, usual, ofAll), 100*t.survey(n, routing.InTransit).transit, n))
		if math.IsNaN(a + b + c) { // a small network may have no message in transit
			continue
		}
		shorter = shorter && a > b && b > c
		larger = larger && b < last
		last = b
		sizes = append(sizes, fmt.Sprintf("%.1f, %.1f, %.1f %% at %d", 100*a, 100*b, 100*c, n))
		networks = append(networks, fmt.Sprintf("%.1f %% at %d", 100*b, n))
	}
	o.claim("at low load, messages in transit pay a part of their latency that falls with their size: 32, 512, 1024 B", "Coll et al.: mostly short messages", shorter && len(sizes) > 0, "%s switches", list(sizes...))
	o.claim(fmt.Sprintf("and with the size of the network: %d B", usual), "Coll et al.: less in larger networks", larger && len(networks) > 1, "%s switches", list(networks...))
	o.note("More latency at low load over all messages of %d B, in transit or not, and in brackets the share of routes with in-transit hosts: %s switches. In a larger network more messages pay, each a smaller part of its latency. The paper speaks of messages in transit, and the claims are about these: see docs/paper-itb.md.", usual, list(all...))
}

// judged is how many topologies of a size a change of saturation by a few percent is judged by. The median of three is
// another by as much with other seeds.
const judged = 10

// claimEffect adds what the cost of an in-transit buffer changes: a claim if there are enough topologies, else a note.
// The machine's cost is the published one, as claims are about the published machine alone.
func (t *throughput) claimEffect(o *Outcome) {
	const about = "1.3 instead of 0.475 µs for an in-transit buffer changes saturation by "
	var shown []string
	unchanged := true
	for _, n := range t.switches {
		effect := t.effect(n)
		shown = append(shown, fmt.Sprintf("%+.1f %% at %d", 100*effect, n))
		unchanged = unchanged && math.Abs(effect) <= 0.05
	}
	effects := list(shown...)
	if t.topologies < judged {
		o.note("Not judged: %s%s switches. Medians of %d topologies differ too much from seed to seed to judge that by 5 %%; --full has %d, and judges it.",
			about, effects, t.topologies, judged)
		return
	}
	o.claim(about+"5 % or less", "Coll et al. expect it", unchanged, "%s switches", effects)
}

// claimCauses adds the three causes that the paper names, where they weigh most.
func (t *throughput) claimCauses(o *Outcome, n int) {
	u, i := t.survey(n, routing.UpDown), t.survey(n, routing.InTransit)
	o.claim("up*/down* routes are not minimal, in-transit ones are", "Coll et al., first cause", i.minimal == 1 && u.minimal < 1 && u.switches > i.switches,
		"%.0f and %.0f %% at %d switches; %s and %s switches on a route", 100*u.minimal, 100*i.minimal, n, figures(u.switches), figures(i.switches))
	a, b := t.middle(n, routing.UpDown, ofRoot), t.middle(n, routing.InTransit, ofRoot)
	o.claim("up*/down* routes crowd at the root", "second cause", a > 1.5*b, "channels there are busy %s and %s times as long as the average between switches, at %d switches", figures(a), figures(b), n)
	a, b = t.middle(n, routing.UpDown, ofBlocked), t.middle(n, routing.InTransit, ofBlocked)
	o.claim("packets on up*/down* routes are blocked for longer", "third cause", a > b, "%s and %s µs a message at %d switches", figures(a), figures(b), n)
}

// figures adds the curves.
func (t *throughput) figures(o *Outcome) {
	note := t.reproduce("itb-throughput")
	switches := plot.Axis{Label: "switches", Scale: plot.Log2}
	// bySize has a point for each size of the networks.
	bySize := func(name string, of func(n int) float64) plot.Series {
		series := plot.Series{Name: name}
		for _, n := range t.switches {
			series.Points = append(series.Points, plot.Point{X: float64(n), Y: of(n)})
		}
		return series
	}
	var ratios []plot.Series
	for _, p := range t.patterns {
		for _, size := range t.messages {
			ratios = append(ratios, bySize(fmt.Sprintf("%s, %d B", p.name, size), func(n int) float64 { return t.rivals[rivals{n, p, size}].ratio() }))
		}
	}
	o.Figures = append(o.Figures, Figure{"ratio", plot.Figure{
		Title: "Saturation throughput, in-transit buffers to up*/down*", Note: note, X: switches, Y: plot.Axis{Label: "ratio"}, Series: ratios}})
	for _, p := range t.patterns {
		var bounds []plot.Series
		for _, size := range t.messages {
			for scheme := range routing.Shortest {
				all := func(n int) []float64 {
					r := t.rivals[rivals{n, p, size}]
					return saturations([][]*sweep{r.upDown, r.inTransit}[scheme])
				}
				name := fmt.Sprintf("%s, %d B", scheme, size)
				bounds = append(bounds, bySize(name, func(n int) float64 { m, _ := interval(all(n)); return m }))
				for k, end := range []string{"from", "to"} {
					s := bySize(name+", 95 % interval "+end, func(n int) float64 { m, half := interval(all(n)); return m + float64(2*k-1)*half })
					s.Kind = plot.Formula
					bounds = append(bounds, s)
				}
			}
		}
		o.Figures = append(o.Figures, Figure{"saturation-" + p.name, plot.Figure{
			Title: fmt.Sprintf("Saturation throughput, %s traffic", p.name), Note: note, X: switches, Y: plot.Axis{Label: "accepted, bytes/ns/switch"}, Series: bounds}})
	}
	for _, f := range []struct {
		name, title string
		of          func(*measured) float64
	}{
		{"penalty", "More latency by in-transit buffers at low load, all messages", ofAll},
		{"penalty-transit", "More latency by in-transit buffers at low load, messages in transit", ofInTransit},
	} {
		var series []plot.Series
		for _, n := range t.switches {
			s := plot.Series{Name: fmt.Sprintf("%d switches", n)}
			for _, size := range []int{32, usual, 1024} {
				if p := t.penalty(n, size, f.of); !math.IsNaN(p) {
					s.Points = append(s.Points, plot.Point{X: float64(size), Y: 100 * p})
				}
			}
			series = append(series, s)
		}
		o.Figures = append(o.Figures, Figure{f.name, plot.Figure{
			Title: f.title, Note: note, X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "added latency, %"}, Series: series}})
	}
	for _, n := range t.switches {
		for _, p := range t.patterns {
			var series []plot.Series
			for _, size := range t.messages {
				r := t.rivals[rivals{n, p, size}]
				for scheme, all := range [][]*sweep{r.upDown, r.inTransit} {
					series = append(series, plot.Series{Name: fmt.Sprintf("%s, %d B", routing.Scheme(scheme), size), Points: curve(all)})
				}
			}
			o.Figures = append(o.Figures, Figure{fmt.Sprintf("latency-%d-%s", n, p.name), plot.Figure{
				Title: fmt.Sprintf("Latency by accepted load, %d switches, %s traffic", n, p.name), Note: note,
				X: plot.Axis{Label: "accepted load, bytes/ns/switch"}, Y: plot.Axis{Label: "time, µs", Scale: plot.Log10}, Series: series}})
		}
	}
}
