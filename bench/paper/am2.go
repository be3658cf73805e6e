package paper

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// am2Profile returns the machine's constants, with some changed.
func (s *Setting) am2Profile(changes ...change) (*amii.Profile, error) {
	file := s.Machine
	for _, c := range changes {
		var err error
		if file, err = file.With(c.name, c.value, c.unit); err != nil {
			return nil, err
		}
	}
	return amii.NewProfile(file)
}

// am2Large is the size of the messages whose bandwidth was published.
const am2Large = 8 << 10

// rate returns the MB/s of messages of a size, one each period.
func rate(size int, period vtime.Time) float64 { return float64(size) / micros(period) }

// am2Bandwidth measures bulk into the segment beside the limit of the host DMA.
func am2Bandwidth(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.am2Profile()
	if err != nil {
		return nil, err
	}
	sizes, messages := []int{1024, am2Large, 64 << 10}, 100
	if s.Full {
		sizes, messages = []int{64, 128, 256, 512, 1024, 2048, 4096, am2Large, 16 << 10, 64 << 10, 256 << 10}, 400
	}
	bulk := func(p *amii.Profile, size int) (float64, error) {
		period, _, err := amii.Bulk(p, s.Seed, size, max(8, min(messages, 16<<20/size)))
		return rate(size, period), err
	}
	var limits, rates []plot.Point
	for _, size := range sizes {
		limit, err := amii.DMALimit(p, lanai.FromHost, size)
		if err != nil {
			return nil, err
		}
		r, err := bulk(p, size)
		if err != nil {
			return nil, err
		}
		limits = append(limits, plot.Point{X: float64(size), Y: limit})
		rates = append(rates, plot.Point{X: float64(size), Y: r})
	}
	limit, got := valueAt(limits, am2Large), valueAt(rates, am2Large)
	o.number("am2-dma-limit", "DMA of 8 KB, and nothing else", limit, "MB/s")
	o.number("am2-bandwidth", "messages of 8 KB to the segment", got, "MB/s")
	o.number("am2-ratio", "of that limit", got/limit, "count")
	o.claim("bulk is slower than the DMA alone, at every size", "", below(rates, limits), "%s of %s MB/s at 8 KB", figures(got), figures(limit))

	medium, err := s.am2Profile(byteSize("am2.fragment", int(p.AM2.Medium)), count("am2.staging", p.AM2.Staging*int(p.AM2.Fragment/p.AM2.Medium)))
	if err != nil {
		return nil, err
	}
	slow, err := bulk(medium, am2Large)
	if err != nil {
		return nil, err
	}
	o.number("am2-in-mediums", fmt.Sprintf("messages of 8 KB in fragments of %d bytes", p.AM2.Medium), slow, "MB/s")
	if s.goal("am2-bandwidth") != nil {
		o.claim("mediums cannot carry it, so bulk has fragments of its own", "", slow < 0.8*got, "%s MB/s in fragments of %d bytes, %s in those of %d", figures(slow), p.AM2.Medium, figures(got), p.AM2.Fragment)
	}
	o.note("A fragment has %d bytes: the published limit is that of a DMA of as many.", p.AM2.Fragment)
	series := []plot.Series{{Name: "bulk", Points: rates}, {Name: "limit of the DMA", Points: limits}}
	series = append(series, s.published(am2Large, "am2-bandwidth", "am2-dma-limit")...)
	o.Figures = append(o.Figures, Figure{"bandwidth", plot.Figure{
		Title: "AM-II: bulk to the segment", Note: s.reproduce("am2-bandwidth"),
		X: plot.Axis{Label: "size, bytes", Scale: plot.Log2}, Y: plot.Axis{Label: "bandwidth, MB/s"}, Series: series,
	}})
	return o, nil
}

// below reports whether every point of a is below that of b.
func below(a, b []plot.Point) bool {
	for i := range a {
		if a[i].Y >= b[i].Y {
			return false
		}
	}
	return true
}

// am2Latency measures messages one at a time, endpoints that are not resident, a node that is dead, and the cluster of 105 nodes.
func am2Latency(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.am2Profile()
	if err != nil {
		return nil, err
	}
	trips := 50
	sizes := []int{0, 32, 256, am2Large}
	if s.Full {
		trips = 400
		sizes = []int{0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, am2Large}
	}
	var points []plot.Point
	for _, size := range sizes {
		t, err := amii.OneWay(p, s.Seed, size, trips)
		if err != nil {
			return nil, err
		}
		points = append(points, plot.Point{X: float64(size), Y: micros(t)})
	}
	o.number("am2-one-way", "a short, from posting it until it is in the receiver's endpoint", valueAt(points, 0), "us")
	m, err := amfamily.RoundTrip(amii.Build(p), s.Seed, amShort, trips)
	if err != nil {
		return nil, err
	}
	o.number("am2-half-round-trip", "half a round trip of 20 bytes, handlers included", micros(m.Time)/2, "us")
	o.Figures = append(o.Figures, Figure{"one-way", plot.Figure{
		Title: "AM-II: from posting a message until it is in the receiver's endpoint", Note: s.reproduce("am2-latency"),
		X: plot.Axis{Label: "size, bytes"}, Y: plot.Axis{Label: "time, µs"},
		Series: append([]plot.Series{{Name: "one way", Points: points}}, s.published(0, "am2-one-way")...),
	}})
	for _, f := range []func(*Outcome, *amii.Profile) error{s.am2Sleep, s.am2Paging, s.am2Dead, s.am2Cluster} {
		if err := f(o, p); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// am2Trips returns what measures the mean round trip of n shorts to the endpoint at index 1, with each called before each.
func am2Trips(n int, each func(e *amii.Endpoint) error) func(*amii.Endpoint) (vtime.Time, error) {
	return func(e *amii.Endpoint) (sum vtime.Time, err error) {
		for i := range n {
			if err := each(e); err != nil {
				return 0, err
			}
			begin := e.Proc().Now()
			if err := e.Request(1, 0, [amfamily.Args]uint32{}, nil); err != nil {
				return 0, err
			}
			if err := amfamily.Wait(e, "the reply", func() bool { return e.Counts().Replies == uint64(i+1) }); err != nil {
				return 0, err
			}
			sum += e.Proc().Now() - begin
		}
		return sum / vtime.Time(n), nil
	}
}

// am2Image replies to requests, and counts nothing.
var am2Image = amfamily.Image{
	func(n amfamily.Node, m *amfamily.Message) {
		if err := n.Reply(m, 1, m.Args, m.Data); err != nil {
			panic(err) // it is as long as the request
		}
	},
	func(amfamily.Node, *amfamily.Message) {},
}

// am2Star is a star of hosts with programs.
type am2Star struct {
	*amii.Cluster
	kernel   *vtime.Kernel
	programs [][]*amii.Endpoint
	all      []*amii.Endpoint
}

func (s *Setting) am2Star(p *amii.Profile, hosts, programs int, options func(int, *amii.Options)) (c *am2Star, err error) {
	c = &am2Star{kernel: vtime.New(s.Seed)}
	if c.Cluster, err = amii.NewStar(&c.kernel.Loop, p, hosts); err != nil {
		return nil, err
	}
	for i := range programs {
		all, err := c.Program(strconv.Itoa(i), 1, am2Image, options)
		if err != nil {
			return nil, err
		}
		c.programs, c.all = append(c.programs, all), append(c.all, all...)
	}
	return c, nil
}

// am2Sleep compares a receiver that sleeps with one that polls.
func (s *Setting) am2Sleep(o *Outcome, p *amii.Profile) error {
	var trips [2]vtime.Time
	var interrupts [2]uint64
	for i := range trips {
		c, err := s.am2Star(p, 2, 1, nil)
		if err != nil {
			return err
		}
		measure := am2Trips(20, func(e *amii.Endpoint) error {
			e.Proc().Charge(vtime.Millisecond)
			return nil
		})
		if err := amfamily.Run(c.kernel, c.all, func(e *amii.Endpoint) (err error) {
			if e.Sleep(i == 1 && e.ID() == 1); e.ID() == 0 {
				trips[i], err = measure(e)
			}
			return err
		}); err != nil {
			return err
		}
		interrupts[i] = c.all[1].Counts().Interrupts
	}
	o.number("am2-polling", "a round trip of a short when the receiver polls", micros(trips[0]), "us")
	o.number("am2-sleeping", "a round trip more when the receiver sleeps", micros(trips[1]-trips[0]), "us")
	o.claim("a receiver that sleeps is woken by an interrupt for each message, and one that polls by none", "", interrupts == [2]uint64{0, 20} && trips[1] > trips[0],
		"%d interrupts of 20 messages, and %d", interrupts[1], interrupts[0])
	return nil
}

// am2Paging has more endpoints take turns than there are frames.
func (s *Setting) am2Paging(o *Outcome, p *amii.Profile) error {
	var trips []plot.Point
	var paged [2]uint64
	most := p.AM2.Frames + 1
	for i, programs := range []int{p.AM2.Frames, most} {
		c, err := s.am2Star(p, 2, programs, nil)
		if err != nil {
			return err
		}
		const rounds = 3
		turn := 0
		var sum vtime.Time
		if err := amfamily.Run(c.kernel, c.all, func(e *amii.Endpoint) error {
			if e.ID() == 1 {
				return nil
			}
			mine := 0
			for c.programs[mine][0] != e {
				mine++
			}
			for round := range rounds {
				for turn != round*programs+mine {
					e.Proc().Charge(10 * vtime.Microsecond)
					e.Proc().Sync()
				}
				begin := e.Proc().Now()
				if err := e.Request(1, 0, [amfamily.Args]uint32{}, nil); err != nil {
					return err
				}
				if err := amfamily.Wait(e, "the reply", func() bool { return e.Counts().Replies == uint64(round+1) }); err != nil {
					return err
				}
				sum += e.Proc().Now() - begin
				turn++
			}
			return nil
		}); err != nil {
			return err
		}
		paged[i] = c.Hosts[0].Counts().PagedIn
		trips = append(trips, plot.Point{X: float64(programs), Y: micros(sum) / float64(turn)})
	}
	o.number("am2-resident", fmt.Sprintf("a round trip with %d endpoints that take turns in %d frames", p.AM2.Frames, p.AM2.Frames), trips[0].Y, "us")
	o.number("am2-paged", fmt.Sprintf("with %d", most), trips[1].Y, "us")
	o.claim("endpoints are paged only if there are more of them than frames, and a page costs far more than a message", "", paged[0] == 0 && paged[1] >= uint64(most) && trips[1].Y > 5*trips[0].Y,
		"%d and %d endpoints were paged in at a host", paged[0], paged[1])
	return nil
}

// am2Dead has a message for a dead node return.
func (s *Setting) am2Dead(o *Outcome, p *amii.Profile) error {
	var back []am2.Reason
	c, err := s.am2Star(p, 2, 1, func(_ int, o *amii.Options) {
		o.Returned = func(r *amii.Returned) { back = append(back, r.Why) }
	})
	if err != nil {
		return err
	}
	c.Hosts[1].Fail(c.Fabric)
	if err := amfamily.Run(c.kernel, c.all, func(e *amii.Endpoint) error {
		if e.ID() == 1 {
			return nil
		}
		if err := e.Request(1, 0, [amfamily.Args]uint32{}, nil); err != nil {
			return err
		}
		return amfamily.Wait(e, "the message to return", func() bool { return len(back) > 0 })
	}); err != nil {
		return err
	}
	retries := c.all[0].Stats().Retransmissions
	o.claim(fmt.Sprintf("a message for a dead node returns to its sender after %d retries", p.AM2.Retries), "De Vivo",
		len(back) == 1 && back[0] == am2.Unreachable && retries == uint64(p.AM2.Retries), "%v after %d", back, retries)
	return nil
}

// am2Cluster has all of 105 nodes, as AM-II had, send one message to each other, and reply.
func (s *Setting) am2Cluster(o *Outcome, p *amii.Profile) error {
	const switches, each = 35, 3 // 8 ports a switch
	topo, err := (fabric.Shape{Hosts: each, Ports: 8}).Random(switches, s.Seed+1)
	if err != nil {
		return err
	}
	k := vtime.New(s.Seed)
	c, err := amii.NewCluster(&k.Loop, p, topo)
	if err != nil {
		return err
	}
	nodes := len(c.Hosts)
	returned := 0
	all, err := c.Program("all to all", 1, am2Image, func(_ int, o *amii.Options) { o.Returned = func(*amii.Returned) { returned++ } })
	if err != nil {
		return err
	}
	data := bytes.Repeat([]byte{1}, 16)
	var end vtime.Time
	if err := amfamily.Run(k, all, func(e *amii.Endpoint) error {
		for d := 1; d < nodes; d++ {
			if err := e.Request((e.ID()+d)%nodes, 0, [amfamily.Args]uint32{}, data); err != nil {
				return err
			}
		}
		err := amfamily.Wait(e, "all replies", func() bool { return e.Counts().Replies == uint64(nodes-1) })
		end = max(end, e.Proc().Now())
		return err
	}); err != nil {
		return err
	}
	whole, resent, full, early := true, uint64(0), uint64(0), uint64(0)
	for _, e := range all {
		n := e.Counts()
		whole = whole && n.Requests == uint64(nodes-1) && n.Replies == uint64(nodes-1)
		resent += e.Stats().Retransmissions
		full += e.Stats().Dropped
		early += e.Stats().Duplicates
	}
	o.number("am2-all-to-all", fmt.Sprintf("%d nodes, a message of 32 bytes and its reply between any two", nodes), micros(end)/1e3, "ms")
	o.claim("on 105 nodes every message arrives once, and so does its reply", "", whole && returned == 0 && nodes == 105, "%d messages between %d nodes; %d packets were sent again, as %d had found no room and %d had come all the same", nodes*(nodes-1), nodes, resent, full, early)
	return nil
}
