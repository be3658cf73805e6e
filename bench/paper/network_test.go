package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestPatterns wants each pattern to send where its name says.
func TestPatterns(t *testing.T) {
	g, err := newIrregular(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	hosts := len(g.topology.Hosts)
	for _, p := range patterns {
		all, silent := 0, 0
		for from := range hosts {
			to := p.targets(g, from)
			all += len(to)
			if len(to) == 0 {
				silent++
			}
			if slices.Contains(to, from) {
				t.Errorf("%s: host %d sends to itself", p.name, from)
			}
			for _, h := range to {
				if n := g.tables[routing.Shortest].Route(from, h).Switches(); p.name == "local" && n > localSwitches {
					t.Errorf("local: %d switches from %d to %d", n, from, h)
				}
				if p.name == "bit-reversal" && !slices.Equal(p.targets(g, h), []int{from}) {
					t.Errorf("bit-reversal: from %d to %d, and from there to %v", from, h, p.targets(g, h))
				}
			}
		}
		switch { // of 32 numbers with 5 bits, 8 read the same backwards
		case p.name == "bit-reversal" && (all != 24 || silent != 8):
			t.Errorf("bit-reversal: %d targets, %d hosts send nothing", all, silent)
		case (p.name == "uniform" || p.name == "hot-spot") && all != hosts*(hosts-1):
			t.Errorf("%s: %d targets", p.name, all)
		case p.name == "local" && all > hosts*(hosts-1):
			t.Errorf("local: %d targets", all)
		}
	}
	if to := patterns[1].targets(g, 1); !slices.Equal(to, []int{16}) {
		t.Errorf("bit-reversal of 1 in 5 bits: %v", to)
	}
}

// TestFlow has a network accept what it is offered, up to a load that it does not reach; what its messages take grows
// with the load, and by as much as the NIC of an in-transit host takes.
func TestFlow(t *testing.T) {
	g, err := newIrregular(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	measure := func(scheme routing.Scheme, p *pattern, transit vtime.Time, fraction float64, c *gm.Profile) *measured {
		f := newFlow(g, scheme, &c.Fabric, transit, p, usual)
		m, err := f.run(fraction*f.bound(), 300, 1500)
		if err != nil {
			t.Fatal(err)
		}
		m.offered, m.accepted = m.offered/f.bound(), m.accepted/f.bound()
		return m
	}
	for _, pattern := range patterns {
		low, high := measure(routing.UpDown, pattern, 0, 0.1, p), measure(routing.UpDown, pattern, 0, 2, p)
		if d := low.accepted/low.offered - 1; math.Abs(d) > 0.08 {
			t.Errorf("%s: %g of what is offered is accepted", pattern.name, low.accepted/low.offered)
		}
		if pattern == uniform && high.accepted > 1 || high.latency < 3*low.latency || high.blocked < low.blocked {
			t.Errorf("%s: above saturation %+v, at a low load %+v", pattern.name, high, low)
		}
	}
	const more = 5 * vtime.Microsecond
	before, after := measure(routing.InTransit, uniform, 0, 0.02, p), measure(routing.InTransit, uniform, more, 0.02, p)
	if d := after.detour - before.detour; d < 0.95*micros(more) || d > 1.3*micros(more) {
		t.Errorf("%v in a host make %g µs", more, d)
	}
}

// TestStudy has simulations on one processor, and on several at once, come to the same, and sweeps go beyond saturation.
func TestStudy(t *testing.T) {
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var before []*measured
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		st := &study{topologies: 2, warm: 5, counted: 10, loads: []float64{0.3, 0.6}, networks: map[int][]*irregular{}}
		if err := st.make(8); err != nil {
			t.Fatal(err)
		}
		r := st.rivals(8, &p.Fabric, simulatedCost, uniform, usual)
		if err := st.run(); err != nil {
			t.Fatal(err)
		}
		var all []*measured
		for _, w := range slices.Concat(r.upDown, r.inTransit) {
			all = append(all, w.points...)
			last := w.points[len(w.points)-1]
			if last.accepted >= ofOffered*last.offered && last.accepted >= ofMost*w.saturation() && math.Abs(last.offered/w.bound()-1) > 1e-9 {
				t.Errorf("a sweep has ended before saturation, at %g of the bound", last.offered/w.bound())
			}
		}
		if len(all) < 8 || before != nil && !reflect.DeepEqual(all, before) {
			t.Errorf("%d processors: %d points, or others than on one", processors, len(all))
		}
		before = all
	}
}

// TestClaimEffect has the cost of an in-transit buffer judged by ten topologies, and not by three.
func TestClaimEffect(t *testing.T) {
	carries := func(load float64, n int) (all []*sweep) {
		for range n {
			all = append(all, &sweep{points: []*measured{{accepted: load}}})
		}
		return all
	}
	for _, c := range []struct {
		topologies     int
		saturation     float64 // with the published cost; with the other one it is 1
		claimed, holds bool
	}{
		{3, 0.94, false, false},
		{10, 0.96, true, true},
		{10, 0.94, true, false},
		{10, 1.06, true, false},
	} {
		e := &throughput{
			study: &study{topologies: c.topologies}, switches: []int{8},
			rivals: map[rivals]*rivalry{{8, uniform, usual}: {inTransit: carries(c.saturation, c.topologies)}},
			cheap:  map[int][]*sweep{8: carries(1, c.topologies)},
		}
		o := new(Outcome)
		e.claimEffect(o)
		if claimed := len(o.Claims) == 1; claimed != c.claimed || claimed && o.Claims[0].Holds != c.holds || len(o.Claims)+len(o.Notes) != 1 {
			t.Errorf("%+v: claims %+v, notes %q", c, o.Claims, o.Notes)
		}
	}
}

// TestClaimPenalty has the cost at low load judged by messages in transit, whatever the mean of all messages does, and that mean
// told in a note.
func TestClaimPenalty(t *testing.T) {
	const before = 10.0 // µs, by up*/down* routes
	for _, c := range []struct {
		about           string
		transit         map[int][3]float64 // what messages in transit pay, by switches, for 32, 512 and 1024 B; -1: there are none
		all             map[int]float64    // and all messages
		shorter, larger bool
		shown           string
	}{
		{"as modelled", map[int][3]float64{8: {0.8, 0.3, 0.2}, 64: {0.7, 0.2, 0.1}}, map[int]float64{8: 0, 64: 0.1}, true, true, "30.0 % at 8, 20.0 % at 64"},
		{"equal in a larger network", map[int][3]float64{8: {0.8, 0.2, 0.1}, 64: {0.7, 0.2, 0.1}}, map[int]float64{8: 0.1, 64: 0}, true, false, "20.0 % at 8, 20.0 % at 64"},
		{"more for longer messages", map[int][3]float64{8: {0.8, 0.3, 0.2}, 64: {0.1, 0.2, 0.1}}, map[int]float64{8: 0.1, 64: 0}, false, true, "30.0 % at 8, 20.0 % at 64"},
		{"one network has messages in transit", map[int][3]float64{8: {-1, -1, -1}, 64: {0.7, 0.2, 0.1}}, map[int]float64{8: 0.1, 64: 0.1}, true, false, "20.0 % at 64"},
	} {
		e := &throughput{study: &study{networks: map[int][]*irregular{}}, switches: []int{8, 64}, low: map[[2]int][]*[2]*measured{}}
		for n, pays := range c.transit {
			for i, size := range []int{32, usual, 1024} {
				up, in := &measured{latency: before, detour: before}, &measured{latency: before * (1 + c.all[n]), detour: before * (1 + pays[i])}
				if pays[i] < 0 {
					up.detour, in.detour = 0, 0
				}
				e.low[[2]int{n, size}] = []*[2]*measured{{up, in}}
			}
		}
		o := new(Outcome)
		e.claimPenalty(o)
		if len(o.Claims) != 2 || o.Claims[0].Holds != c.shorter || o.Claims[1].Holds != c.larger || o.Claims[1].Shown != c.shown+" switches" {
			t.Errorf("%s: %+v", c.about, o.Claims)
		}
		for n, all := range c.all {
			if want := fmt.Sprintf("%.1f %% (0 %%) at %d", 100*all, n); len(o.Notes) != 1 || !strings.Contains(o.Notes[0], want) {
				t.Errorf("%s: notes %q have not %q", c.about, o.Notes, want)
			}
		}
	}
}

// TestThroughputMoves changes three constants of the machine: what depends on each moves the right way.
func TestThroughputMoves(t *testing.T) {
	s, err := Myrinet.Setting("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	g, err := newIrregular(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	type result struct{ saturation, latency, transit float64 }
	measure := func(name, value, unit string) (r result) {
		p, err := s.gmProfile(name, value, unit)
		if err != nil {
			t.Fatal(err)
		}
		_, _, r.transit, err = s.transitCost(p, gm.Image{ITB: true}, []int{200, 1000})
		if err != nil {
			t.Fatal(err)
		}
		f := newFlow(g, routing.InTransit, &p.Fabric, vtime.Time(r.transit*float64(vtime.Microsecond)), uniform, usual)
		for _, load := range []float64{0.001, 0.2} { // far below and far above saturation
			m, err := f.run(load, 100, 800)
			if err != nil {
				t.Fatal(err)
			}
			if r.latency == 0 {
				r.latency = m.latency
			}
			r.saturation = m.accepted
		}
		return r
	}
	base := measure("", "", "")
	rate := measure("fabric.link.rate", "80", "MB/s")
	if q := rate.saturation / base.saturation; q > 0.7 || q < 0.4 || rate.latency < 1.6*base.latency {
		t.Errorf("links of half the rate: %+v, else %+v", rate, base)
	}
	delay := measure("fabric.switch.san", "1150", "ns")
	if d := delay.latency - base.latency; d < 2.5 || d > 3.5 { // 2.87 switches on a route
		t.Errorf("switches that take 1 µs more: %+v, else %+v", delay, base)
	}
	slow := measure("cpu.instruction", "33", "MHz")
	if slow.transit < 1.5*base.transit || slow.latency < base.latency+0.05 {
		t.Errorf("a NIC of half the speed: %+v, else %+v", slow, base)
	}
}

// TestHeadOfLine has larger slack buffers free the channels behind a packet that waits, and hosts that nobody contends
// for block nobody.
func TestHeadOfLine(t *testing.T) {
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	alone, _, err := reach(&p.Fabric, false)
	if err != nil {
		t.Fatal(err)
	}
	behind, _, err := reach(&p.Fabric, true)
	if err != nil {
		t.Fatal(err)
	}
	large := p.Fabric
	large.Slack.Size, large.Slack.Stop, large.Slack.Go = 1000, 900, 800
	freed, _, err := reach(&large, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range alone {
		if behind[i] < 2*alone[i] {
			t.Errorf("channel %d: %g µs behind the packet that waits, %g without it", i, behind[i], alone[i])
		}
		if last := i == len(alone)-1; last == (freed[i] == alone[i]) {
			t.Errorf("channel %d: %g µs behind a packet that fits into a buffer, %g without it", i, freed[i], alone[i])
		}
	}
}

// TestVariants has every machine's variants be constants that a network can have. One whose slack buffers cannot be half
// as large is without that variant, and a note says so.
func TestVariants(t *testing.T) {
	cabling, err := fabric.Shape{Hosts: hostsEach}.Random(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		machine          string
		size, stop, goOn int    // instead of the machine's, if size is not 0
		want             [3]int // the first variant's; 0: left out
	}{
		{machine: "gm-pci64a", want: [3]int{40, 16, 8}},
		{machine: "gm-pci64b", want: [3]int{80, 28, 20}},
		{machine: "gm-pci64c", want: [3]int{80, 28, 20}},
		{machine: "gm-pci64b", size: 60, stop: 20, goOn: 10},
	} {
		p, err := gm.Load(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		if slack := &p.Fabric.Slack; c.size > 0 {
			slack.Size, slack.Stop, slack.Go = c.size, c.stop, c.goOn
		}
		o := new(Outcome)
		all := variants(&p.Fabric, cabling, true, o)
		if len(all)+len(o.Notes) != 4 {
			t.Errorf("%s: %d variants, notes %q", c.machine, len(all), o.Notes)
		}
		for _, v := range all {
			if err := v.constants.CheckFor(cabling); err != nil {
				t.Errorf("%s: %s: %v", c.machine, v.name, err)
			}
		}
		var got [3]int
		if first := all[0]; first.name == "slack buffers −50 %" {
			got = [3]int{first.constants.Slack.Size, first.constants.Slack.Stop, first.constants.Slack.Go}
		}
		if got != c.want {
			t.Errorf("%s: half a slack buffer is %v, want %v; notes %q", c.machine, got, c.want, o.Notes)
		}
	}
}

// TestWithoutErrors: an experiment on a machine whose links make errors comes to what it does on the same machine without,
// and says that it has left them out.
func TestWithoutErrors(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	of := func(text string) *Outcome {
		path := filepath.Join(t.TempDir(), "own.machine")
		if err := os.WriteFile(path, []byte("about one for tests\nbase gm-pci64a\n"+text), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Myrinet.Setting(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := ByName("itb-cost")
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := of("")
	for _, text := range []string{"fabric.error.lose 5000 ppm assumed x\n", "fabric.error.corrupt 1000 ppm assumed x\n", "fabric.error.truncate 1000 ppm assumed x\n"} {
		if got := of(text); !reflect.DeepEqual(got.Numbers, want.Numbers) || len(got.Notes) != len(want.Notes)+1 {
			t.Errorf("%s%+v, notes %q; without it %+v", text, got.Numbers, got.Notes, want.Numbers)
		}
	}
}

// TestHOLMachines judges slow machines by the packets that can be counted, and what waits by the packet that it waits for.
// Streams that switches limit are not judged.
func TestHOLMachines(t *testing.T) {
	e, err := ByName("fabric-hol")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text          string
		judged        bool
		blocked, many float64
	}{
		{"fabric.link.rate 80 MB/s assumed x\n", true, 3, 1},
		{"fabric.link.rate 8 MB/s assumed x\n", true, 3, 1},
		{"fabric.switch.san 1 us assumed x\n", false, 3, 1},
		{"fabric.switch.san 50 us assumed x\n", false, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "own.machine")
		if err := os.WriteFile(path, []byte("about one for tests\nbase gm-pci64a\n"+c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Myrinet.Setting(path)
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if lines, err := o.Failures(s.Machine); err != nil || len(lines) > 0 || (len(o.Claims) > 0) != c.judged || (len(o.Notes) > 0) == c.judged {
			t.Errorf("%s%q, %v; %d claims, notes %q", c.text, lines, err, len(o.Claims), o.Notes)
		}
		for name, want := range map[string]float64{"hol-blocked": c.blocked, "hol-blocked-large": c.many} {
			if i := slices.IndexFunc(o.Numbers, func(n Number) bool { return n.Name == name }); o.Numbers[i].Value != want {
				t.Errorf("%s%s is %g, want %g", c.text, name, o.Numbers[i].Value, want)
			}
		}
	}
}

// TestInterval compares a confidence interval with one worked out by hand: 1, 2 and 3 have the mean 2 and the standard
// deviation 1.
func TestInterval(t *testing.T) {
	if middle, half := interval([]float64{1, 2, 3}); middle != 2 || math.Abs(half-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%g ± %g", middle, half)
	}
}
