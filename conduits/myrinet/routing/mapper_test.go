package routing_test

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// mapping is a host whose control program does nothing but map.
type mapping struct {
	agent *routing.Agent
	port  *fabric.Port
	queue fifo.Queue[fabric.Packet]
	news  int
	bad   int
	heard hash.Hash64 // of what has come, and when; nil: not wanted
	loop  *vtime.Loop
}

func (m *mapping) send(p fabric.Packet) {
	m.queue.Push(p)
	m.Gone(nil)
}

func (m *mapping) Gone(*fabric.Sending) {
	if m.port.Idle() {
		if p, ok := m.queue.Pop(); ok {
			m.port.Inject(p)
		}
	}
}

func (m *mapping) Head(a *fabric.Arrival) { a.Accept(0) }

func (m *mapping) Tail(a *fabric.Arrival) {
	if m.heard != nil {
		fmt.Fprintln(m.heard, m.loop.Now(), a.Packet(), a.Verdict())
	}
	if a.Verdict() == fabric.Good && m.agent.Receive(a.Packet().Head) != nil {
		m.bad++
	}
}

func (m *mapping) Received(*fabric.Arrival, int) {}
func (m *mapping) Sent(*fabric.Sending, int)     {}
func (m *mapping) Reset(*fabric.Port)            {}

// mapped is a network whose hosts map.
type mapped struct {
	*vtime.Simulation
	f     *fabric.Fabric
	hosts []*mapping
}

func newMapped(t testing.TB, topo *fabric.Topology, s routing.Settings, change func(*fabric.Constants)) *mapped {
	t.Helper()
	c, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(c)
	}
	sim := vtime.NewSimulation(1)
	f, err := fabric.New(&sim.Loop, topo, c)
	if err != nil {
		t.Fatal(err)
	}
	m := &mapped{Simulation: sim, f: f}
	for h, name := range topo.Hosts {
		host := &mapping{port: f.Port(h), loop: &sim.Loop}
		host.agent, err = routing.NewAgent(&sim.Loop, name, s, host.send, func() { host.news++ })
		if err != nil {
			t.Fatal(err)
		}
		host.port.Attach(host)
		m.hosts = append(m.hosts, host)
	}
	return m
}

// round runs until a host has completed another round as the mapper.
func (m *mapped) round(t testing.TB, h int) routing.Report {
	t.Helper()
	before := m.hosts[h].agent.Report().Rounds
	for range 100_000 {
		m.RunUntil(m.Now() + vtime.Millisecond)
		if r := m.hosts[h].agent.Report(); r.Rounds > before {
			return r
		}
	}
	t.Fatal("the mapper does not get to an end")
	panic("not reached")
}

// alike makes sure that a map is the network, but for the numbers of switches and ports: it walks both from a host on,
// port by port.
func alike(t testing.TB, what string, found, topo *fabric.Topology) {
	t.Helper()
	type pair struct{ found, real int }
	fc, tc := found.Cabling(), topo.Cabling()
	offset := make(map[pair]int) // of switches that are the same: what to add to a port of the map
	var queue []pair
	hosts := 0
	meet := func(f, r fabric.End) {
		switch p := (pair{f.Index, r.Index}); {
		case f.Host != r.Host:
			t.Fatalf("%s: %s is %s", what, found.EndName(f), topo.EndName(r))
		case f.Host:
			hosts++
			if found.Hosts[f.Index] != topo.Hosts[r.Index] {
				t.Fatalf("%s: %s is %s", what, found.EndName(f), topo.EndName(r))
			}
		default:
			if o, known := offset[p]; known && o != r.Port-f.Port {
				t.Fatalf("%s: ports of %s are %d or %d apart", what, topo.EndName(r), o, r.Port-f.Port)
			} else if !known {
				offset[p] = r.Port - f.Port
				queue = append(queue, p)
			}
		}
	}
	first := slices.Index(topo.Hosts, found.Hosts[0])
	if tc.Link(fabric.HostEnd(first)) >= 0 {
		meet(found.Links[fc.Link(fabric.HostEnd(0))].Other(fabric.HostEnd(0)), topo.Links[tc.Link(fabric.HostEnd(first))].Other(fabric.HostEnd(first)))
	}
	switches := make(map[int]bool)
	for ; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		switches[p.real] = true
		links := 0
		for port := range topo.Switches[p.real].Ports {
			r := fabric.SwitchEnd(p.real, port)
			f := fabric.SwitchEnd(p.found, port-offset[p])
			rl, fl := tc.Link(r), -1
			if f.Port >= 0 && f.Port < len(found.Switches[p.found].Ports) {
				fl = fc.Link(f)
			}
			if (rl < 0) != (fl < 0) {
				t.Fatalf("%s: a cable at %s: %v; one on the map: %v", what, topo.EndName(r), rl >= 0, fl >= 0)
			}
			if rl >= 0 {
				links++
				meet(found.Links[fl].Other(f), topo.Links[rl].Other(r))
			}
		}
	}
	if len(found.Switches) != len(switches) || hosts != len(found.Hosts) {
		t.Errorf("%s: %d switches on the map and %d hosts, met %d and %d", what, len(found.Switches), len(found.Hosts), len(switches), hosts)
	}
}

// TestMapper has hosts map networks of all shapes, those with cables from a switch to itself, with several between two
// switches, and with switches without hosts among them. One mapper is left; its map is the network; and the routes
// that it has told everybody are those of its table.
func TestMapper(t *testing.T) {
	t.Parallel()
	for _, topo := range shapes(t) {
		if len(topo.Hosts) == 0 || len(topo.Switches) > 20 && !strings.Contains(topo.About, "fat tree") {
			continue
		}
		m := newMapped(t, topo, routing.Settings{Options: routing.Options{Scheme: routing.InTransit}}, nil)
		for _, h := range m.hosts {
			h.agent.Start()
		}
		r := m.round(t, 0)
		if r.Err != nil || len(r.Missing) > 0 {
			t.Fatalf("%s: %v, no answer from %v", topo.About, r.Err, r.Missing)
		}
		alike(t, topo.About, r.Topology, topo)
		told := 0
		for i, h := range m.hosts {
			if _, there := r.Topology.Host(topo.Hosts[i]); !there {
				continue
			}
			if h.agent.Mapper() != topo.Hosts[0] || i > 0 && h.agent.Report().Rounds > 0 {
				t.Errorf("%s: the mapper of %s is %q; it has mapped %d times itself", topo.About, topo.Hosts[i], h.agent.Mapper(), h.agent.Report().Rounds)
			}
			for _, e := range h.agent.Entries() {
				told++
				// The route bytes lead through the network itself.
				here := i
				for j, leg := range e.Legs {
					_, end := follow(topo, here, leg)
					here = end.Index
					if want := slices.Concat(e.Transit, []string{e.To})[j]; topo.Hosts[here] != want {
						t.Fatalf("%s: leg %d from %s to %s leads to %s, not %s", topo.About, j, topo.Hosts[i], e.To, topo.Hosts[here], want)
					}
				}
			}
		}
		if n := len(r.Topology.Hosts); told != n*(n-1) {
			t.Errorf("%s: %d routes are told, want %d", topo.About, told, n*(n-1))
		}
	}
}

// TestMapperLoss has packets lost and damaged on the way; more tries of each question make up for it.
func TestMapperLoss(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Random(5, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := newMapped(t, topo, routing.Settings{Tries: 8}, func(c *fabric.Constants) {
		c.Error.Lose, c.Error.Corrupt, c.Error.Truncate = machine.Certain/100, machine.Certain/100, machine.Certain/100
	})
	m.hosts[3].agent.Start()
	r := m.round(t, 0) // which is asked by the other, and takes over
	alike(t, topo.About, r.Topology, topo)
	if c := m.f.Counts(); len(r.Missing) > 0 || c.Lost == 0 || c.BadCRC == 0 {
		t.Errorf("%v, %+v", r.Missing, c)
	}
}

// TestMapperChanges has a host and a link go and come back, and then the mapper itself. Each round finds the network as it
// is, and another host takes over.
func TestMapperChanges(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 1}.Mesh(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := newMapped(t, topo, routing.Settings{}, nil)
	m.hosts[0].agent.Start()
	alike(t, "at first", m.round(t, 0).Topology, topo)

	m.f.FailLink(fabric.HostEnd(3))
	m.f.FailLink(fabric.SwitchEnd(0, 1))
	less := *topo
	less.Links = slices.DeleteFunc(slices.Clone(topo.Links), func(l fabric.Link) bool {
		return slices.Contains(l.Ends[:], fabric.HostEnd(3)) || slices.Contains(l.Ends[:], fabric.SwitchEnd(0, 1))
	})
	r := m.round(t, 0)
	alike(t, "with a host and a link gone", r.Topology, &less)
	if _, ok := r.Topology.Host("h3"); ok || len(m.hosts[1].agent.Entries()) != 2 {
		t.Error("the host that has gone is still there")
	}

	m.f.RepairLink(fabric.HostEnd(3))
	m.f.RepairLink(fabric.SwitchEnd(0, 1))
	alike(t, "with both back", m.round(t, 0).Topology, topo)
	if len(m.hosts[1].agent.Entries()) != 3 {
		t.Error("the host that has come back is not there")
	}

	m.hosts[0].agent.Stop()
	m.hosts[0].port.Attach(nil)
	r = m.round(t, 1)
	if _, ok := r.Topology.Host("h0"); ok || m.hosts[2].agent.Mapper() != "h1" || m.hosts[3].agent.Mapper() != "h1" {
		t.Errorf("the mapper of h2 is %s, of h3 %s", m.hosts[2].agent.Mapper(), m.hosts[3].agent.Mapper())
	}

	m.hosts[0].port.Attach(m.hosts[0])
	m.hosts[0].agent.Start()
	m.round(t, 0)
	for i, h := range m.hosts {
		if h.agent.Mapper() != "h0" {
			t.Errorf("the mapper of h%d is %s", i, h.agent.Mapper())
		}
	}
}

// TestMapperTwice has equal runs have equal traces.
func TestMapperTwice(t *testing.T) {
	t.Parallel()
	run := func() uint64 {
		topo, err := fabric.Shape{Hosts: 2}.Random(6, 9)
		if err != nil {
			t.Fatal(err)
		}
		m := newMapped(t, topo, routing.Settings{}, func(c *fabric.Constants) { c.Error.Lose = machine.Certain / 1000 })
		var d vtime.Digest
		m.Trace(&d)
		for _, h := range m.hosts {
			h.agent.Start()
		}
		m.round(t, 0)
		return d.Sum()
	}
	if a, b := run(), run(); a != b {
		t.Error("two runs differ")
	}
}

// TestMapperNames has hosts whose names look like those of the map's switches.
func TestMapperNames(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 1}.Line(3)
	if err != nil {
		t.Fatal(err)
	}
	topo.Hosts = []string{"switch-0", "switch-1", "switch-3"}
	m := newMapped(t, topo, routing.Settings{}, nil)
	m.hosts[0].agent.Start()
	r := m.round(t, 0)
	if r.Err != nil || len(r.Missing) > 0 {
		t.Fatalf("%v, no answer from %v", r.Err, r.Missing)
	}
	alike(t, topo.About, r.Topology, topo)
}

// TestMapperTwins has two hosts that answer by one name, so that two switches look like one with too many ports: the mapper
// says that it has no map.
func TestMapperTwins(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Parse("twins", `
switch s0 8 SAN
switch s1 8 SAN
host a s0:0
host b s0:1
host c s1:0
link s0:7 s1:7
`)
	if err != nil {
		t.Fatal(err)
	}
	m := newMapped(t, topo, routing.Settings{Options: routing.Options{Root: -1}}, nil)
	twin := m.hosts[2]
	if twin.agent, err = routing.NewAgent(&m.Loop, "b", routing.Settings{}, twin.send, nil); err != nil {
		t.Fatal(err)
	}
	m.hosts[0].agent.Start()
	if r := m.round(t, 0); r.Err == nil {
		t.Errorf("the map is\n%v", r.Topology)
	}
}

func TestNewAgent(t *testing.T) {
	t.Parallel()
	s := vtime.NewSimulation(1)
	for _, name := range []string{"", "a b", "a/b", strings.Repeat("x", 65)} {
		if _, err := routing.NewAgent(&s.Loop, name, routing.Settings{}, nil, nil); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if _, err := routing.NewAgent(&s.Loop, "a", routing.Settings{Ports: 33}, nil, nil); err == nil {
		t.Error("33 ports")
	}
}

var messages = []routing.Message{
	{Kind: routing.Probe, Serial: 7, From: "h0"},
	{Kind: routing.Scout, Serial: 1 << 30, From: "h1", Back: []byte{0x81, 0xbf}},
	{Kind: routing.Routes, From: "x", Back: long(300), Round: 0x01020304, Part: 2, More: 1, Entries: []routing.Entry{
		{To: "far", Legs: [][]byte{long(400)}},
		{To: "a", Legs: [][]byte{{0x81}}},
		{To: "b", Legs: [][]byte{{0x81, 0x82}, {0x83}}, Transit: []string{"a"}},
	}},
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for _, m := range messages {
		b := m.Append(nil)
		got, err := routing.Decode(b)
		if m.Back == nil {
			m.Back = []byte{}
		}
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v is read as %+v, %v", m, got, err)
		}
		for i := range b {
			if _, err := routing.Decode(b[:i]); err == nil {
				t.Errorf("%+v is whole with %d of %d bytes", m, i, len(b))
			}
		}
		if _, err := routing.Decode(append(b, 0)); err == nil {
			t.Error("a byte too many")
		}
	}
}

// TestDecode gives what no mapper sends: it is refused.
func TestDecode(t *testing.T) {
	t.Parallel()
	entry := func(e routing.Entry) routing.Message {
		return routing.Message{Kind: routing.Routes, From: "x", Entries: []routing.Entry{{To: "a", Legs: [][]byte{{0x81}}}, e}}
	}
	for what, m := range map[string]routing.Message{
		"a kind":         {Kind: routing.Taken + 1, From: "x"},
		"a name":         {Kind: routing.Probe, From: "a b"},
		"a way back":     {Kind: routing.Scout, From: "x", Back: []byte{0x81, 0x01}},
		"no way":         entry(routing.Entry{To: "b"}),
		"an empty leg":   entry(routing.Entry{To: "b", Legs: [][]byte{{0x81}, {}}, Transit: []string{"c"}}),
		"a leg":          entry(routing.Entry{To: "b", Legs: [][]byte{{0x81, 0x41}}}),
		"unused bits":    entry(routing.Entry{To: "b", Legs: [][]byte{{0xc1}}}),
		"a target":       entry(routing.Entry{To: "", Legs: [][]byte{{0x81}}}),
		"a transit host": entry(routing.Entry{To: "b", Legs: [][]byte{{0x81}, {0x81}}, Transit: []string{"/"}}),
	} {
		if got, err := routing.Decode(m.Append(nil)); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestMapperParts has hosts with long names on a long line: their routes together are longer under way than the time that a mapper
// waits for an answer, and all are told.
func TestMapperParts(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 5}.Line(12)
	if err != nil {
		t.Fatal(err)
	}
	for i := range topo.Hosts {
		topo.Hosts[i] = strings.Repeat("n", 50) + topo.Hosts[i]
	}
	m := newMapped(t, topo, routing.Settings{Timeout: 20 * vtime.Microsecond}, nil)
	m.hosts[0].agent.Start()
	r := m.round(t, 0)
	if r.Err != nil || len(r.Missing) > 0 {
		t.Fatalf("%v, no answer from %v", r.Err, r.Missing)
	}
	for i, h := range m.hosts {
		if n := len(h.agent.Entries()); n != len(topo.Hosts)-1 || h.news != 1 {
			t.Errorf("host %d has %d routes, by %d changes", i, n, h.news)
		}
	}
}

// TestMapperPartsMixed tells a host the first part of its routes by two mappers, and of two rounds of one, before the second parts come:
// routes are used if all parts are of one round.
func TestMapperPartsMixed(t *testing.T) {
	t.Parallel()
	sim := vtime.NewSimulation(1)
	taken := 0
	a, err := routing.NewAgent(&sim.Loop, "z", routing.Settings{Ports: 8}, func(fabric.Packet) { taken++ }, nil)
	if err != nil {
		t.Fatal(err)
	}
	tell := func(from string, round uint32, part int, to string) {
		m := routing.Message{Kind: routing.Routes, From: from, Round: round, Part: part, More: 1 - part, Entries: []routing.Entry{{To: to, Legs: [][]byte{{0x81}}}}}
		if err := a.Receive(m.Append(nil)); err != nil {
			t.Error(err)
		}
	}
	tell("a", 5, 0, "old")
	tell("b", 5, 0, "other")
	tell("a", 5, 1, "old")
	tell("a", 6, 0, "one")
	tell("b", 5, 1, "other")
	tell("a", 5, 1, "old")
	if len(a.Entries()) > 0 || taken != 3 {
		t.Errorf("routes from parts that do not belong together: %v; %d parts are acknowledged", a.Entries(), taken)
	}
	tell("a", 6, 1, "two")
	if e := a.Entries(); len(e) != 2 || e[0].To != "one" || e[1].To != "two" || a.Mapper() != "a" || taken != 4 {
		t.Errorf("routes %v of %s; %d parts are acknowledged", e, a.Mapper(), taken)
	}
}

// TestMapperStopped stops an agent: it does nothing any more, whatever comes, until it is started again.
func TestMapperStopped(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Line(2)
	if err != nil {
		t.Fatal(err)
	}
	m := newMapped(t, topo, routing.Settings{}, nil)
	for _, h := range m.hosts {
		h.agent.Start()
	}
	m.round(t, 0)
	m.hosts[1].agent.Stop()
	news := m.hosts[1].news
	r := m.round(t, 0)
	if m.hosts[1].news != news || fmt.Sprint(r.Lost) != "[h1]" || len(r.Topology.Hosts) != 3 {
		t.Errorf("a host that is stopped has news: %v; lost are %v of the map, which has %v", m.hosts[1].news != news, r.Lost, r.Topology.Hosts)
	}
	m.hosts[0].agent.Stop()
	for h := 2; h < 4; h++ {
		m.hosts[h].agent.Stop()
	}
	asked := m.f.Counts()
	m.RunUntil(m.Now() + 20*vtime.Second)
	if now := m.f.Counts(); now != asked {
		t.Errorf("agents that are stopped go on: %+v, then %+v", asked, now)
	}
	m.hosts[1].agent.Start()
	m.hosts[2].agent.Start()
	if r := m.round(t, 1); fmt.Sprint(r.Topology.Hosts) != "[h1 h2]" {
		t.Errorf("the map has %v", r.Topology.Hosts)
	}
}

// TestMapperBusy has hosts and links fail and come back while several hosts map. When that has ended, one mapper is left and its
// next map is the network.
func TestMapperBusy(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		topo, err := fabric.Shape{Hosts: 2}.Random(5, seed)
		if err != nil {
			t.Fatal(err)
		}
		m := newMapped(t, topo, routing.Settings{Interval: 5 * vtime.Millisecond, Patience: 200 * vtime.Millisecond, Options: routing.Options{Root: -1}}, nil)
		for _, h := range m.hosts {
			h.agent.Start()
		}
		chance := rand.New(rand.NewPCG(seed, 0))
		down := map[fabric.End]bool{}
		for range 60 {
			m.RunUntil(m.Now() + vtime.Time(chance.Int64N(int64(3*vtime.Millisecond))))
			switch e := topo.Links[chance.IntN(len(topo.Links))].Ends[0]; {
			case down[e]:
				m.f.RepairLink(e)
				delete(down, e)
			default:
				m.f.FailLink(e)
				down[e] = true
			}
		}
		for e := range down {
			m.f.RepairLink(e)
		}
		m.RunUntil(m.Now() + vtime.Second)
		m.round(t, 0)
		r := m.round(t, 0)
		alike(t, topo.About, r.Topology, topo)
		for i, h := range m.hosts {
			if h.agent.Mapper() != topo.Hosts[0] || len(h.agent.Entries()) != len(topo.Hosts)-1 {
				t.Errorf("seed %d: the mapper of %s is %q, it has %d routes", seed, topo.Hosts[i], h.agent.Mapper(), len(h.agent.Entries()))
			}
		}
		if len(r.Missing) > 0 || len(r.Lost) > 0 {
			t.Errorf("seed %d: no answer from %v, lost are %v", seed, r.Missing, r.Lost)
		}
	}
}

func long(n int) []byte { return bytes.Repeat([]byte{0x81}, n) }

func FuzzDecode(f *testing.F) {
	for _, m := range messages {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := routing.Decode(b)
		if err != nil {
			return
		}
		if got := m.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("%x is read as %+v, which is %x", b, m, got)
		}
	})
}

// TestTraces has networks that lose packets mapped with whatever number of processors, several at once: equal seeds give equal
// traces, and equal routes at the end.
func TestTraces(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want [2]uint64
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		var sums [6]uint64
		var all sync.WaitGroup
		for i := range sums {
			topo, err := fabric.Shape{Hosts: 2}.Random(4, uint64(i%2))
			if err != nil {
				t.Fatal(err)
			}
			m := newMapped(t, topo, routing.Settings{Tries: 5}, func(c *fabric.Constants) { c.Error.Lose = machine.Certain / 100 })
			all.Go(func() { sums[i] = m.trace(t, vtime.Second) })
		}
		all.Wait()
		for i, sum := range sums {
			if procs == 1 && i < len(want) {
				want[i] = sum
			}
			if sum != want[i%2] {
				t.Errorf("%d processors, seed %d: trace %x, the first was %x", procs, i%2, sum, want[i%2])
			}
		}
	}
	if want[0] == want[1] {
		t.Error("two seeds give one trace")
	}
}

// trace maps a network for a time, and returns a number of what all hosts have heard and know, and of all events.
func (m *mapped) trace(t *testing.T, long vtime.Time) uint64 {
	var d vtime.Digest
	m.Trace(&d)
	for _, h := range m.hosts {
		h.heard = fnv.New64a()
		h.agent.Start()
	}
	m.RunUntil(long)
	sum := fnv.New64a()
	fmt.Fprintln(sum, d.Sum(), m.f.Counts())
	for _, h := range m.hosts {
		if h.agent.Mapper() == "" {
			t.Errorf("%s has no routes", m.f.Topology().Hosts[h.port.Host()])
		}
		fmt.Fprintln(sum, h.heard.Sum64(), h.agent.Mapper(), h.agent.Entries())
	}
	return sum.Sum64()
}
