package routing_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Types of the packets here: one for its host, and one for somewhere else, of which the rest follows after the two
// bytes of a header.
const (
	final   = 0
	transit = 1
)

// station is a host that sends packets along the routes of a table and sends those in transit on, with as many buffers
// as that takes: at once if nothing else is being sent.
type station struct {
	*network
	host   int
	port   *fabric.Port
	queue  fifo.Queue[fabric.Packet]
	onward bool // the packet that arrives is being sent on already
	chance *rand.Rand
}

// network is a fabric with stations.
type network struct {
	*vtime.Simulation
	f        *fabric.Fabric
	table    *routing.Table
	stations []*station
	heads    [][][]byte // by sender and receiver
	body     []byte
	greedy   bool // each host sends whenever it can
	arrived  int
}

func newNetwork(t testing.TB, table *routing.Table, size int) *network {
	t.Helper()
	c, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	c.Limit.Time = 0
	s := vtime.NewSimulation(1)
	topo := table.Topology()
	f, err := fabric.New(&s.Loop, topo, c)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{Simulation: s, f: f, table: table, body: make([]byte, size)}
	for h := range topo.Hosts {
		st := &station{network: n, host: h, port: f.Port(h), chance: s.Rand("station " + topo.Hosts[h])}
		st.port.Attach(st)
		n.stations = append(n.stations, st)
		n.heads = append(n.heads, make([][]byte, len(topo.Hosts)))
		for to := range topo.Hosts {
			n.heads[h][to] = head(table, h, to)
		}
	}
	return n
}

// head returns what is before the body of a packet.
func head(table *routing.Table, from, to int) []byte {
	var b []byte
	for i, leg := range table.Route(from, to) {
		if i > 0 {
			b = append(b, transit, 0)
		}
		b = append(b, table.Bytes(leg)...)
	}
	return append(b, final, byte(to))
}

func (s *station) send(to int) { s.put(fabric.Packet{Head: s.heads[s.host][to], Body: s.body}) }

func (s *station) put(p fabric.Packet) {
	s.queue.Push(p)
	s.Gone(nil)
}

// another sends a packet to any other host.
func (s *station) another() {
	to := s.chance.IntN(len(s.stations) - 1)
	if to >= s.host {
		to++
	}
	s.send(to)
}

func (s *station) Head(a *fabric.Arrival) {
	s.onward = false
	a.Accept(0)
	a.Watch(4)
}

func (s *station) Received(a *fabric.Arrival, _ int) {
	if a.Packet().Head[0] == transit && s.port.Idle() {
		s.onward = true
		s.port.Forward(a, 2)
	}
}

func (s *station) Tail(a *fabric.Arrival) {
	switch p := a.Packet(); {
	case p.Head[0] == final:
		if p.Head[1] != byte(s.host) || a.Verdict() != fabric.Good {
			panic("a packet for another host, or a bad one")
		}
		s.arrived++
	case !s.onward:
		s.put(p.Skip(2))
	}
}

func (s *station) Sent(*fabric.Sending, int) {}

func (s *station) Gone(*fabric.Sending) {
	if s.port.Idle() {
		if s.greedy && s.queue.Len() == 0 {
			s.another()
			return
		}
		if p, ok := s.queue.Pop(); ok {
			s.port.Inject(p)
		}
	}
}

func (s *station) Reset(*fabric.Port) {}

// TestDeadlock has all hosts of a network send much at once. On the shortest ways packets wait for each other in a
// circle, as Check says they may; on those that it accepts all arrive.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Ring(6)
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []routing.Scheme{routing.Shortest, routing.UpDown, routing.InTransit} {
		table := table(t, topo, routing.Options{Scheme: scheme})
		n := newNetwork(t, table, 500)
		const packets = 30
		for _, s := range n.stations {
			for range packets {
				s.send((s.host + 5) % 12) // two or three switches on: to the host of another one
			}
		}
		if err := n.Run(); err != nil {
			t.Fatal(err)
		}
		waits := n.f.Waits()
		if routing.Check(table, false) == nil {
			if n.arrived != packets*12 || n.f.InFlight() != 0 || len(waits) > 0 {
				t.Errorf("%v: %d of %d packets have come", scheme, n.arrived, packets*12)
			}
			continue
		}
		if n.arrived == packets*12 || len(waits) < 3 {
			t.Errorf("%v: %d packets have come, %d wait", scheme, n.arrived, len(waits))
		}
		var cycle *routing.CycleError
		if !errors.As(routing.Check(table, false), &cycle) {
			t.Fatal("no circle is found")
		}
		// Each channel of the circle is one that a packet waits for.
		for _, c := range cycle.Channels {
			from, _ := routing.Ends(topo, c)
			waited := false
			for _, w := range waits {
				waited = waited || w.For == from
			}
			if !waited {
				t.Errorf("no packet waits for %s, which is in the circle that was found: %+v", topo.EndName(from), waits)
			}
		}
	}
}

// TestTransit has packets cross hosts in transit, all of which arrive, under any load.
func TestTransit(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Random(12, 4)
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit, Spread: routing.Balanced}), 100)
	all := 0
	for _, s := range n.stations {
		for to := range n.stations {
			if to != s.host {
				s.send(to)
				all++
			}
		}
	}
	if err := n.Run(); err != nil {
		t.Fatal(err)
	}
	if n.arrived != all || n.f.InFlight() != 0 {
		t.Errorf("%d of %d packets have come", n.arrived, all)
	}
}

// BenchmarkSaturation runs 64 switches with 256 hosts, as the published studies have them, with more traffic than they
// take. A packet-hop is a packet that has crossed a cable.
func BenchmarkSaturation(b *testing.B) {
	for _, scheme := range []routing.Scheme{routing.UpDown, routing.InTransit} {
		for _, size := range []int{32, 512, 1024} {
			b.Run(scheme.String()+"/"+map[int]string{32: "32", 512: "512", 1024: "1024"}[size], func(b *testing.B) {
				topo, err := fabric.Shape{Hosts: 4}.Random(64, 1)
				if err != nil {
					b.Fatal(err)
				}
				n := newNetwork(b, table(b, topo, routing.Options{Scheme: scheme, Spread: routing.Balanced}), size)
				n.greedy = true
				for _, s := range n.stations {
					s.another()
				}
				n.RunUntil(200 * vtime.Microsecond)
				before := n.Events()
				start := n.Now()
				arrived := n.arrived
				crossed := func() (all uint64) {
					for _, load := range n.f.Traffic() {
						all += load.Packets
					}
					return all
				}
				c := crossed()
				b.ResetTimer()
				for range b.N {
					n.RunUntil(n.Now() + 10*vtime.Microsecond)
				}
				b.StopTimer()
				real := b.Elapsed().Seconds()
				hop := float64(crossed() - c)
				b.ReportMetric(real/(float64(n.Now()-start)/1e12), "slower")
				b.ReportMetric(hop/real/1e6, "Mhops/s")
				b.ReportMetric(float64(n.Events()-before)/hop, "events/hop")
				b.ReportMetric(float64(n.arrived-arrived)*float64(size)*1e3/float64(n.Now()-start), "B/ns")
			})
		}
	}
}
