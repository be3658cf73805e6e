package paper

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// hostsEach is the number of hosts of a switch in the published studies, whose switches have 8 ports.
const hostsEach = 4

// An irregular is a random irregular topology with the routes that are compared.
type irregular struct {
	topology *fabric.Topology
	seed     uint64
	tables   [routing.Shortest + 1]*routing.Table // by scheme; Shortest for comparison alone: it may deadlock
	targets  map[*pattern][][]int                 // of each host, of patterns that there are flows of
}

// newIrregular returns the topology of a seed. All schemes have the same tree, whose root is in
// the middle, and spread their routes over equal choices.
func newIrregular(switches int, seed uint64) (*irregular, error) {
	topology, err := fabric.Shape{Hosts: hostsEach}.Random(switches, seed)
	if err != nil {
		return nil, err
	}
	g := &irregular{topology: topology, seed: seed, targets: map[*pattern][][]int{}}
	root := routing.Center(topology)
	for scheme := range g.tables {
		if g.tables[scheme], err = routing.NewTable(topology, routing.Options{Scheme: routing.Scheme(scheme), Spread: routing.Balanced, Root: root}); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// A pattern says where the hosts of a topology send to.
type pattern struct {
	name    string
	targets func(g *irregular, from int) []int // which are equally likely; none: the host does not send
	hot     float64                            // share of all messages that go to one host instead
}

// local traffic stays among hosts with at most so many switches between them.
const localSwitches = 3

// The patterns.
var (
	uniform = &pattern{name: "uniform", targets: func(g *irregular, from int) []int {
		return g.others(from, len(g.topology.Switches))
	}}
	patterns = []*pattern{
		uniform,
		{name: "bit-reversal", targets: func(g *irregular, from int) []int {
			n := bits.Len(uint(len(g.topology.Hosts))) - 1 // sizes are powers of two
			if to := int(bits.Reverse64(uint64(from)) >> (64 - n)); to != from {
				return []int{to}
			}
			return nil
		}},
		{name: "local", targets: func(g *irregular, from int) []int { return g.others(from, localSwitches) }},
		{name: "hot-spot", targets: uniform.targets, hot: 0.05},
	}
)

// others returns the hosts with at most so many switches between them and one.
func (g *irregular) others(from, switches int) (all []int) {
	for to := range g.topology.Hosts {
		if r := g.tables[routing.Shortest].Route(from, to); r != nil && r.Switches() <= switches {
			all = append(all, to)
		}
	}
	return all
}

// A flow is traffic on a topology by one scheme of routes: everything that is simulated but the load.
type flow struct {
	*irregular
	scheme    routing.Scheme
	constants *fabric.Constants
	transit   vtime.Time // the time of a NIC for a packet in transit
	pattern   *pattern
	size      int // bytes of a message, which is a packet

	targets [][]int
	hotHost int
}

func newFlow(g *irregular, scheme routing.Scheme, c *fabric.Constants, transit vtime.Time, p *pattern, size int) *flow {
	if g.targets[p] == nil {
		for from := range g.topology.Hosts {
			g.targets[p] = append(g.targets[p], p.targets(g, from))
		}
	}
	f := &flow{irregular: g, scheme: scheme, constants: c, transit: transit, pattern: p, size: size, targets: g.targets[p]}
	f.hotHost = rand.New(rand.NewPCG(g.seed, 1)).IntN(len(g.topology.Hosts))
	return f
}

// bound returns the load, in bytes a nanosecond and switch, at which the busiest channel would carry payload all the
// time: no load above it can be carried.
func (f *flow) bound() float64 {
	load := make([]float64, 2*len(f.topology.Links))
	add := func(from, to int, share float64) {
		for _, leg := range f.tables[f.scheme].Route(from, to) {
			for _, c := range leg {
				load[c] += share
			}
		}
	}
	for from, targets := range f.targets {
		hot := f.pattern.hot
		if from == f.hotHost { // it sends nothing to itself
			hot = 0
		}
		for _, to := range targets {
			add(from, to, (1-hot)/float64(len(targets)))
		}
		if hot > 0 {
			add(from, f.hotHost, hot)
		}
	}
	most := 0.0
	for _, l := range load {
		most = max(most, l)
	}
	return hostsEach * rateOf(f.constants.Link.Rate) / 1e3 / most
}

// measured is what a flow has come to at a load. Loads count payload alone, in bytes a nanosecond and switch. Latencies
// are of messages that were made after the warm-up and have come before the end: beyond saturation those that wait in
// their hosts at the end are missing.
type measured struct {
	offered, accepted float64
	latency           float64 // mean from when a message is made to its last byte, in µs
	detour            float64 // the same, of messages that have an in-transit host on minimal routes; 0: there are none
	blocked           float64 // mean time that the head of a message has waited for outputs, in µs
	buffers           int     // packets in transit that a host has had at once, at most
	root, all         float64 // how much of the time channels at the root are busy, and channels between switches on average
}

// A generator has hosts make messages, at times that know nothing of each other (a Poisson process for each host).
type generator struct {
	*flow
	hosts  *routing.Hosts
	loop   *vtime.Loop
	chance []*rand.Rand // of each host
	mean   float64      // picoseconds from one message of a host to the next
}

// Fire is an event: a host makes a message.
func (g *generator) Fire(from, _ uint64) {
	r := g.chance[from]
	to := g.targets[from][r.IntN(len(g.targets[from]))]
	if g.pattern.hot > 0 && r.Float64() < g.pattern.hot && int(from) != g.hotHost {
		to = g.hotHost
	}
	g.hosts.Send(int(from), to)
	g.next(from)
}

func (g *generator) next(from uint64) {
	g.loop.At(g.loop.Now()+vtime.Time(g.chance[from].ExpFloat64()*g.mean), g, from, 0)
}

// run has hosts offer a load, in bytes a nanosecond and switch, of which each host has an equal part; what hosts would offer
// that the pattern has not send is missing. The times for warm messages, which are not counted, and then for counted ones
// are those at which all hosts together make so many on average. Flows of equal topologies and patterns have, at equal
// loads, equal messages at equal times, whatever their routes are.
func (f *flow) run(load float64, warm, counted int) (*measured, error) {
	s := vtime.NewSimulation(f.seed)
	network, err := fabric.New(&s.Loop, f.topology, f.constants)
	if err != nil {
		return nil, err
	}
	hosts := routing.NewHosts(network, f.tables[f.scheme], f.size)
	hosts.SetTransit(f.transit)
	each := float64(f.size) / load * hostsEach * float64(vtime.Nanosecond) // from one message of a host to the next
	message := each / float64(len(f.topology.Hosts))                       // from one message to the next
	begin := vtime.Time(float64(warm) * message)
	end := begin + vtime.Time(float64(counted)*message)

	var latency, detour mean
	m := new(measured)
	minimal := f.tables[routing.InTransit]
	hosts.Observe(func(from, to int, sent vtime.Time) {
		if sent < begin {
			return
		}
		took := micros(s.Now() - sent)
		latency.add(took)
		if len(minimal.Route(from, to)) > 1 {
			detour.add(took)
		}
	})
	g := &generator{flow: f, hosts: hosts, loop: &s.Loop, mean: each}
	for h := range f.topology.Hosts {
		g.chance = append(g.chance, s.Rand("traffic of "+f.topology.Hosts[h]))
		if len(f.targets[h]) > 0 {
			m.offered += load / float64(len(f.topology.Hosts))
			g.next(uint64(h))
		}
	}
	s.RunUntil(begin)
	before, arrived := network.Traffic(), hosts.Arrived()
	s.RunUntil(end)
	come := float64(hosts.Arrived() - arrived)
	m.accepted = come * float64(f.size) / float64(end-begin) * float64(vtime.Nanosecond) / float64(len(f.topology.Switches))
	m.buffers = hosts.MostTransit()
	m.latency, m.detour = latency.value(), detour.value()
	root := f.tables[f.scheme].Root
	var atRoot, all mean
	for i, t := range network.Traffic() {
		m.blocked += micros(t.Waited-before[i].Waited) / come
		if t.From.Host || t.To.Host {
			continue
		}
		busy := float64(t.Busy-before[i].Busy) / float64(end-begin)
		all.add(busy)
		if t.From.Index == root || t.To.Index == root {
			atRoot.add(busy)
		}
	}
	m.root, m.all = atRoot.value(), all.value()
	if err := s.Close(); err != nil {
		return nil, fmt.Errorf("%s, %s, %s traffic, %d B: %w", f.topology.About, f.scheme, f.pattern.name, f.size, err)
	}
	return m, nil
}

// mean is that of values.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) {
	m.sum += v
	m.n++
}

// value returns the mean, or 0 of nothing.
func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}
