package paper

import (
	"embed"
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/am"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/ssam"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

//go:embed machines/*.machine
var machineFiles embed.FS

// amLibrary has the machine that consists of those of the family's layers.
func amLibrary() *machine.Library {
	return machine.Built(machineFiles, "machines", nil).Over(am.Machines()).Over(hpam.Library()).Over(ssam.Library())
}

// amProfiles are the machines of the layers.
type amProfiles struct {
	am   *am.Profile
	hpam *hpam.Profile
	ssam *ssam.Profile

	// These two have experiments of their own: they are what comes with their packages, on every machine.
	am2  *amii.Profile
	grim *grim.Profile
}

func newAMProfiles(f *machine.File) (p *amProfiles, err error) {
	p = new(amProfiles)
	if p.am, err = am.NewProfile(f.Part("am")); err != nil {
		return nil, err
	}
	if p.hpam, err = hpam.NewProfile(f.Part("hpam")); err != nil {
		return nil, err
	}
	if p.ssam, err = ssam.NewProfile(f.Part("ssam")); err != nil {
		return nil, err
	}
	if p.am2, err = machine.Load(amii.Library(), am2Machines[0], amii.NewProfile); err != nil {
		return nil, err
	}
	p.grim, err = grim.Load(grimMachine[0])
	return p, err
}

// A layer is one of those that are compared.
type layer struct {
	name, about string
	build       amfamily.Build
	buffers     int // for messages, of a node with 3 partners
}

// What the layers are compared by.
const (
	amShort = 20   // bytes of payload, arguments included
	amLarge = 4080 // bytes of data: a page of payload
)

// layers returns the layers, each system before what it is compared with.
func (p *amProfiles) layers() []layer {
	const partners = 3
	sends := 2 * p.hpam.HPAM.Buffers * partners
	return []layer{
		{"am", "Active Messages", am.Build(p.am), 0},
		{"library", "send and receive with buffers, same machine", am.BuildLibrary(p.am), 2 * p.am.Net.Networks * p.am.Library.Buffers},
		{"hpam", "HPAM", hpam.Build(p.hpam), sends + p.hpam.HPAM.Pool},
		{"tcp", "TCP, same cards and ring", hpam.BuildTCP(p.hpam), p.hpam.HPAM.Pool + int(p.hpam.TCP.Window)*partners/int(p.hpam.HPAM.Payload)},
		{"ssam", "SSAM", ssam.Build(p.ssam, ssam.Traps), p.ssam.SSAM.Buffers + p.ssam.Card.Input},
		{"ssam-user", "SSAM's library at user level, same cards", ssam.Build(p.ssam, ssam.User), p.ssam.Card.Input},
		{"ssam-driver", "the same through a traditional driver", ssam.Build(p.ssam, ssam.Driver), p.ssam.Card.Input},
		{"ssam-vendor", "the same through the vendor's interface", ssam.Build(p.ssam, ssam.Vendor), p.ssam.Card.Input},
		{"am2", "AM-II", amii.Build(p.am2), 2*(p.am2.AM2.Sends+p.am2.AM2.Receives) + 2*p.am2.AM2.Staging},
		{"grim", "GRIM", buildGRIM(p.grim), int(p.grim.GRIM.Queue+p.grim.GRIM.Receive) / (grim.HeaderSize + grim.Padded(amShort-amfamily.ArgBytes))},
	}
}

// A layered is what the measurements of a layer have come to.
type layered struct {
	layer
	oneWay, rate, bandwidth float64 // µs of a short message, thousands of them in a second, MB/s of large ones
	traps                   float64 // of both nodes, for a short message one way
	latencies, bandwidths   []plot.Point
}

func (s *Setting) layer(l layer) (*layered, error) {
	trips, messages := 50, 100
	sizes := []int{amfamily.ArgBytes + 16, 1024, amLarge}
	if s.Full {
		trips, messages = 400, 1000
		sizes = []int{amfamily.ArgBytes + 16, 64, 128, 256, 512, 1024, 2048, amLarge}
	}
	r := &layered{layer: l}
	half := func(size int) (float64, *amfamily.Measured, error) {
		m, err := amfamily.RoundTrip(l.build, s.Seed, size, trips)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", l.name, err)
		}
		return micros(m.Time) / 2, m, nil
	}
	oneWay, m, err := half(amShort)
	if err != nil {
		return nil, err
	}
	r.oneWay = oneWay
	r.traps = float64(m.Counts[0].Traps+m.Counts[1].Traps) / float64(2*m.Sent)
	for _, size := range sizes {
		t, _, err := half(size)
		if err != nil {
			return nil, err
		}
		r.latencies = append(r.latencies, plot.Point{X: float64(size), Y: t})
		m, err := amfamily.Stream(l.build, s.Seed, size, messages)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		r.bandwidths = append(r.bandwidths, plot.Point{X: float64(size), Y: m.Rate(size)})
		r.bandwidth = m.Rate(size)
	}
	m, err = amfamily.Stream(l.build, s.Seed, amShort-amfamily.ArgBytes, 2*messages)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	r.rate = 1e3 / micros(m.Time)
	return r, nil
}

// amFamily sets the layers of the Active Message family side by side, each on its machine, and beside what it is to be
// faster than.
func amFamily(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := newAMProfiles(s.Machine)
	if err != nil {
		return nil, err
	}
	by := map[string]*layered{}
	latency := plot.Figure{
		Title: "Active Message family: half round trip", Note: s.reproduce("am-family"),
		X: plot.Axis{Label: "bytes of payload", Scale: plot.Log2}, Y: plot.Axis{Label: "time, µs", Scale: plot.Log10},
	}
	bandwidth := plot.Figure{
		Title: "Active Message family: streams", Note: s.reproduce("am-family"),
		X: plot.Axis{Label: "bytes of data", Scale: plot.Log2}, Y: plot.Axis{Label: "bandwidth, MB/s"},
	}
	for _, l := range p.layers() {
		r, err := s.layer(l)
		if err != nil {
			return nil, err
		}
		by[l.name] = r
		o.number(l.name+".one-way", l.about+": half round trip of 20 bytes", r.oneWay, "us")
		o.number(l.name+".rate", "thousand messages a second", r.rate, "count")
		o.number(l.name+".bandwidth", "stream of 4080 bytes of data", r.bandwidth, "MB/s")
		o.number(l.name+".buffers", "for messages, of a node with 3 partners", float64(r.buffers), "count")
		o.number(l.name+".traps", "of both nodes for a short message", r.traps, "count")
		latency.Series = append(latency.Series, plot.Series{Name: l.name, Points: r.latencies})
		bandwidth.Series = append(bandwidth.Series, plot.Series{Name: l.name, Points: r.bandwidths})
	}
	o.Figures = append(o.Figures, Figure{"latency", latency}, Figure{"bandwidth", bandwidth})

	o.number("buffered-short", "half round trip of 20 bytes by the library with buffers", by["library"].oneWay, "us")
	o.number("hpam-round-trip", "round trip of 20 bytes by HPAM", 2*by["hpam"].oneWay, "us")
	o.number("hpam-peak", "stream of pages by HPAM", by["hpam"].bandwidth, "MB/s")
	o.number("tcp-over-hpam", "how many times longer TCP takes for it on the same ring", by["tcp"].oneWay/by["hpam"].oneWay, "count")
	o.number("ssam-short", "half round trip of 20 bytes by SSAM", by["ssam"].oneWay, "us")
	o.number("ssam-peak", "stream by SSAM", by["ssam"].bandwidth, "MB/s")
	o.number("ssam-driver", "through a traditional driver", by["ssam-driver"].bandwidth, "MB/s")
	o.number("ssam-vendor", "through the vendor's interface", by["ssam-vendor"].bandwidth, "MB/s")
	if err := s.pool(o, p.hpam); err != nil {
		return nil, err
	}
	ratio := by["library"].oneWay / by["am"].oneWay
	o.number("library-over-am", "how many times longer the library takes than Active Messages", ratio, "count")
	if s.goal("buffered-short") != nil { // another machine's layers may cost what they like
		o.claim("Active Messages are 6 to 12 times as fast as sending and receiving with buffers", "De Vivo", ratio >= 6 && ratio <= 12, "%s times", figures(ratio))
	}
	o.claim("SSAM traps to send and to poll, at both ends", "De Vivo", by["ssam"].traps >= 3, "%s traps for a message of a cell", figures(by["ssam"].traps))
	o.claim("it is slower than the same library at user level on the same cards", "De Vivo",
		by["ssam"].oneWay > by["ssam-user"].oneWay && by["ssam"].bandwidth < by["ssam-user"].bandwidth && by["ssam-user"].traps == 0,
		"%s against %s µs, %s against %s MB/s", figures(by["ssam"].oneWay), figures(by["ssam-user"].oneWay), figures(by["ssam"].bandwidth), figures(by["ssam-user"].bandwidth))
	if s.goal("hpam-round-trip") != nil {
		o.claim("Active Messages and HPAM never enter the kernel for a message", "De Vivo", by["am"].traps+by["hpam"].traps == 0, "%s traps", figures(by["am"].traps+by["hpam"].traps))
		o.claim("nor do AM-II, whose endpoints are resident, and GRIM", "", by["am2"].traps+by["grim"].traps == 0, "%s traps", figures(by["am2"].traps+by["grim"].traps))
	}
	o.note("The layers are on different machines: what stands beside a layer on its own machine is what it can be judged by.")
	o.note("AM-II is on %s and GRIM on %s, whatever machine the others are on. GRIM's buffers are queues in bytes: as many messages of 20 bytes as they have room for.", am2Machines[0], grimMachine[0])
	return o, nil
}

// pool adds how many receive buffers HPAM needs, and that there are enough on 4 workstations, and not on 5.
func (s *Setting) pool(o *Outcome, p *hpam.Profile) error {
	load := func(nodes, pool int) (*hpam.Loaded, error) {
		changed := *p
		changed.HPAM.Pool = pool
		return hpam.FullLoad(&changed, nodes, s.Seed)
	}
	const unlimited = 1 << 12
	four, err := load(4, unlimited)
	if err != nil {
		return err
	}
	five, err := load(5, unlimited)
	if err != nil {
		return err
	}
	o.number("hpam-pool", "receive buffers of 4 workstations that are taken at once under full load, if there are more", float64(four.Fullest), "count")
	o.number("hpam-pool-5", "and of 5", float64(five.Fullest), "count")
	if s.goal("hpam-pool") == nil {
		return nil
	}
	enough, err := load(4, p.HPAM.Pool)
	if err != nil {
		return err
	}
	few, err := load(5, p.HPAM.Pool)
	if err != nil {
		return err
	}
	o.claim("the pool never overflows on 4 workstations, and does on 5, where requests are sent again", "De Vivo",
		enough.Overflowed == 0 && enough.Fullest == p.HPAM.Pool && few.Overflowed > 0 && few.Resent > 0,
		"%d of %d buffers on 4; %d frames overflow on 5", enough.Fullest, p.HPAM.Pool, few.Overflowed)
	return nil
}
