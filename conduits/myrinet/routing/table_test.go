package routing_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
)

// figure1 is the ring of figure 1 of Coll et al.
func figure1(t testing.TB) *fabric.Topology {
	t.Helper()
	file, err := os.Open("testdata/figure1.topology")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	topo, err := fabric.Read(file.Name(), file)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func table(t testing.TB, topo *fabric.Topology, o routing.Options) *routing.Table {
	t.Helper()
	table, err := routing.NewTable(topo, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// way returns a route as names of switches and hosts.
func way(t *routing.Table, r routing.Route) string {
	topo := t.Topology()
	var names []string
	for _, leg := range r {
		for _, c := range leg {
			_, e := routing.Ends(topo, c)
			name, _, _ := strings.Cut(topo.EndName(e), ":")
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// TestFigure1 has the published example: from 4 by 6 to 1 goes up after down, so that up*/down* leads by 0 and 2, and
// a host of 6 makes the short way legal.
func TestFigure1(t *testing.T) {
	t.Parallel()
	topo := figure1(t)
	h4, _ := topo.Host("h4")
	h1, _ := topo.Host("h1")
	for scheme, want := range map[routing.Scheme]string{
		routing.UpDown:    "4 0 2 1 h1",
		routing.InTransit: "4 6 h6 6 1 h1",
		routing.Shortest:  "4 6 1 h1",
	} {
		table := table(t, topo, routing.Options{Scheme: scheme})
		if got := way(table, table.Route(h4, h1)); got != want {
			t.Errorf("%v: %s, want %s", scheme, got, want)
		}
		for _, leg := range table.Route(h4, h1) {
			if table.Tree().Legal(leg) != (scheme != routing.Shortest) {
				t.Errorf("%v: legal: %v", scheme, scheme == routing.Shortest)
			}
		}
		if err := table.Unreachable(); err != nil {
			t.Error(err)
		}
	}
	tree := table(t, topo, routing.Options{}).Tree()
	if !slices.Equal(tree.Level, []int{0, 2, 1, -1, 1, -1, 2}) || !tree.Up(6, 1) || !tree.Up(4, 0) || tree.Up(4, 6) {
		t.Errorf("%+v", tree)
	}
}

// shapes are topologies of all generators.
func shapes(t testing.TB) (all []*fabric.Topology) {
	t.Helper()
	s := fabric.Shape{Hosts: 2}
	add := func(topo *fabric.Topology, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, topo)
	}
	add(s.Line(5))
	for _, n := range []int{1, 2, 3, 4, 7, 8} {
		add(s.Ring(n))
	}
	add(s.Mesh(3, 4))
	add(s.Mesh(2, 2, 3))
	add(s.Torus(4, 4))
	add(s.Torus(2, 5))
	add(s.Torus(3, 3, 2))
	add(s.FatTree(2, 4))
	add(s.FatTree(3, 3))
	for seed := range uint64(10) {
		add(fabric.Shape{Hosts: 1 + int(seed%4)}.Random(2+2*int(seed), seed))
	}
	add(fabric.Shape{Hosts: 0}.Random(9, 5)) // no host at all
	loops, err := fabric.Parse("loops", `
switch s0 8 SAN
switch s1 8 SAN
switch s2 8 SAN
link s0:0 s0:1 # a cable from a switch to itself
link s0:2 s1:2
link s0:3 s1:3
link s1:4 s2:4
link s2:5 s0:5
host h0 s0:7
host h1 s1:7
host h2 s2:7
host h3
host h4
link h3 h4
`)
	add(loops, err)
	islands, err := fabric.Parse("islands", `
switch s0 8 SAN
switch s1 8 SAN
switch s2 8 SAN
switch s3 8 SAN
switch s4 8 SAN
switch s5 8 SAN
host h0 s0:0
host h1 s1:0
host h2 s2:0
host h3 s3:0
host h4 s4:0
host h5 s5:0
link s0:1 s2:1 # by the numbers of switches alone, s0 to s1 goes up after down
link s1:1 s2:2
link s3:1 s5:1 # and so does s3 to s4
link s4:1 s5:2
`)
	add(islands, err)
	return all
}

// follow walks a leg by its bytes, as the network would, and returns the channels.
func follow(topo *fabric.Topology, from int, bytes []byte) (channels []int, to fabric.End) {
	cabling := topo.Cabling()
	at := fabric.HostEnd(from)
	for {
		link := cabling.Link(at)
		c := 2 * link
		if topo.Links[link].Ends[0] != at {
			c++
		}
		channels = append(channels, c)
		at = topo.Links[link].Other(at)
		if len(bytes) == 0 {
			return channels, at
		}
		delta, _ := fabric.RouteDelta(bytes[0])
		at.Port += delta
		bytes = bytes[1:]
	}
}

// cyclic finds out naively whether channels depend on each other in a circle: it takes away those that nothing
// depends on, as long as there are any.
func cyclic(after map[int]map[int]bool) bool {
	for {
		wanted := make(map[int]bool)
		for _, next := range after {
			for c := range next {
				wanted[c] = true
			}
		}
		removed := false
		for c := range after {
			if !wanted[c] {
				delete(after, c)
				removed = true
			}
		}
		if !removed {
			return len(after) > 0
		}
	}
}

// distances returns how many switches apart all are, by their cables alone.
func distances(topo *fabric.Topology) [][]int {
	n := len(topo.Switches)
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{n * n}, n)
		d[i][i] = 0
	}
	for i := range topo.Links {
		if a, b := topo.Links[i].Ends[0], topo.Links[i].Ends[1]; !a.Host && !b.Host && a.Index != b.Index {
			d[a.Index][b.Index], d[b.Index][a.Index] = 1, 1
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// TestTables holds the routes on topologies of all shapes to what is promised of them: that they lead where they
// should, that each leg is legal, that none can wait for each other in a circle, and that ways through in-transit
// hosts are the shortest that there are if each switch has a host. The circles are looked for a second time, by other
// means and by the route bytes.
func TestTables(t *testing.T) {
	t.Parallel()
	cycles := 0
	for i, topo := range shapes(t) {
		apart := distances(topo)
		cabling := topo.Cabling()
		hosted := make(map[int]bool)
		at := make([]int, len(topo.Hosts)) // switch of each host, or -1
		for h := range topo.Hosts {
			e := topo.Links[cabling.Link(fabric.HostEnd(h))].Other(fabric.HostEnd(h))
			at[h] = -1
			if !e.Host {
				hosted[e.Index], at[h] = true, e.Index
			}
		}
		for _, scheme := range []routing.Scheme{routing.UpDown, routing.InTransit, routing.Shortest} {
			spread := routing.Spread(i % 3)
			table := table(t, topo, routing.Options{Scheme: scheme, Spread: spread, Seed: 7, Root: i % len(topo.Switches)})
			after := make(map[int]map[int]bool)
			table.Each(func(from, to int, r routing.Route) {
				hops, here := 0, from
				for _, leg := range r {
					channels, end := follow(topo, here, table.Bytes(leg))
					if !slices.Equal(channels, leg) || !end.Host {
						t.Fatalf("%s, %v: from %d to %d bytes lead along %v to %v, not along %v", topo.About, scheme, from, to, channels, end, leg)
					}
					here = end.Index
					hops += len(leg) - 2
					if scheme != routing.Shortest && !table.Tree().Legal(leg) {
						t.Errorf("%s, %v: leg %v is not legal", topo.About, scheme, leg)
					}
					for j := 1; j < len(channels); j++ {
						if after[channels[j-1]] == nil {
							after[channels[j-1]] = make(map[int]bool)
						}
						after[channels[j-1]][channels[j]] = true
					}
				}
				if here != to {
					t.Errorf("%s, %v: the route from %d to %d leads to %d", topo.About, scheme, from, to, here)
				}
				if at[from] < 0 {
					return
				}
				shortest := hops == apart[at[from]][at[to]]
				if !shortest && (scheme == routing.Shortest || scheme == routing.InTransit && len(hosted) == len(topo.Switches)) {
					t.Errorf("%s, %v: %d hops from %d to %d, %d would do", topo.About, scheme, hops, from, to, apart[at[from]][at[to]])
				}
			})
			for from := range at {
				for to := range at {
					if there := table.Route(from, to) != nil; there != (from != to && (at[from] < 0) == (at[to] < 0) && (at[from] < 0 || apart[at[from]][at[to]] < len(apart))) {
						t.Errorf("%s: a route from %d to %d: %v", topo.About, from, to, there)
					}
				}
			}
			err := routing.Check(table, false)
			if found := cyclic(after); found != (err != nil) {
				t.Errorf("%s, %v: %v, but the naive check finds a circle: %v", topo.About, scheme, err, found)
			}
			if err != nil && scheme != routing.Shortest {
				t.Errorf("%s: %v", topo.About, err)
			}
			var cycle *routing.CycleError
			if errors.As(err, &cycle) {
				cycles++
				for j, c := range cycle.Channels {
					if !after[c][cycle.Channels[(j+1)%len(cycle.Channels)]] {
						t.Errorf("%v: no such dependency", err)
					}
				}
			}
		}
	}
	if cycles < 5 {
		t.Errorf("%d tables of shortest ways have circles", cycles)
	}
}

// TestFinite shows that buffers of in-transit hosts are what makes their routes safe: as something to wait for they
// close circles.
func TestFinite(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 4}.Random(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	if table := table(t, topo, routing.Options{Scheme: routing.InTransit}); routing.Check(table, false) != nil || routing.Check(table, true) == nil {
		t.Error("in-transit buffers make no difference")
	}
	if table := table(t, topo, routing.Options{Scheme: routing.UpDown}); routing.Check(table, true) != nil {
		t.Error("up*/down* needs buffers")
	}
}

// TestSpread has rules choose among equal ways and hosts: the balanced one uses all of them alike, the first one
// alone.
func TestSpread(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 4}.Random(16, 3)
	if err != nil {
		t.Fatal(err)
	}
	busiest := make(map[routing.Spread]int)
	stops := make(map[routing.Spread]int)
	for _, s := range []routing.Spread{routing.First, routing.Random, routing.Balanced} {
		table := table(t, topo, routing.Options{Scheme: routing.InTransit, Spread: s, Seed: 1})
		load, stop := make(map[int]int), make(map[int]int)
		table.Each(func(_, _ int, r routing.Route) {
			for _, leg := range r {
				for _, c := range leg[1 : len(leg)-1] {
					load[c]++
					busiest[s] = max(busiest[s], load[c])
				}
			}
			for _, h := range table.Transit(r) {
				stop[h]++
				stops[s] = max(stops[s], stop[h])
			}
		})
	}
	if !(busiest[routing.Balanced] < busiest[routing.Random] && busiest[routing.Random] < busiest[routing.First]) ||
		!(stops[routing.Balanced] <= stops[routing.Random] && stops[routing.Random] < stops[routing.First]) {
		t.Errorf("busiest channel %v, host %v", busiest, stops)
	}
}

// TestUnreachable names the hosts that have no way.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	topo := figure1(t)
	topo.AddHost("lonely")
	h := topo.AddHost("apart")
	topo.Connect(fabric.HostEnd(h), fabric.SwitchEnd(3, 0), 100)
	table := table(t, topo, routing.Options{Scheme: routing.InTransit})
	if err := table.Unreachable(); err == nil || !strings.Contains(err.Error(), "no way from h0 to lonely, apart") {
		t.Error(err)
	}
	if _, err := routing.NewTable(topo, routing.Options{Root: 9}); err == nil || !strings.Contains(err.Error(), "switch 9 cannot be the root") {
		t.Error(err)
	}
	topo.Connect(fabric.HostEnd(h), fabric.SwitchEnd(3, 1), 100)
	if _, err := routing.NewTable(topo, routing.Options{}); err == nil {
		t.Error("a host with two cables")
	}
}

// TestCenter has the middle of a line.
func TestCenter(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{}.Line(7)
	if err != nil {
		t.Fatal(err)
	}
	if c := routing.Center(topo); c != 3 {
		t.Errorf("switch %d", c)
	}
}
