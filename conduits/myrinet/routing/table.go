package routing

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Scheme says which ways routes take.
type Scheme uint8

// Schemes.
const (
	UpDown    Scheme = iota // shortest legal ways
	InTransit               // shortest ways, through in-transit hosts where they are not legal, as few of these as can be
	Shortest                // shortest ways whatever is legal: packets may wait for each other in a circle
)

var schemes = [...]string{"up*/down*", "in-transit", "shortest"}

// String returns the name of the scheme.
func (s Scheme) String() string { return schemes[s] }

// Spread says which of equal choices routes take: of ways, and of hosts in transit.
type Spread uint8

// Rules.
const (
	First    Spread = iota // the lowest port, the host with the lowest number
	Random                 // by the seed
	Balanced               // the channel, and the host, that the fewest routes take so far
)

// Options say what routes are to be like.
type Options struct {
	Scheme Scheme
	Spread Spread
	Seed   uint64 // of Random
	Root   int    // of the spanning tree
}

// Leg is a way from a host to another without a stop: the numbers of its channels, the two of the hosts included.
type Leg []int

// Route is a way between two hosts. Between two of its legs there is an in-transit host.
type Route []Leg

// Table has the routes between all hosts.
type Table struct {
	Options
	t       *fabric.Topology
	tree    *Tree
	cabling *fabric.Cabling
	routes  [][]Route // by sender and receiver; nil where there is none
}

// NewTable computes routes. Where there is no way there is no route, see Unreachable.
func NewTable(t *fabric.Topology, o Options) (*Table, error) {
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	tree, err := NewTree(t, o.Root)
	if err != nil {
		return nil, err
	}
	table := &Table{Options: o, t: t, tree: tree, cabling: t.Cabling(), routes: make([][]Route, len(t.Hosts))}
	for h := range t.Hosts {
		table.routes[h] = make([]Route, len(t.Hosts))
	}
	f := newFinder(table)
	// All receivers of one switch are looked for at once, and senders take turns, so that no one of them gets the
	// ways that are left over.
	for s := range t.Switches {
		f.search(s)
		for _, to := range f.hosts[s] {
			for from := range t.Hosts {
				table.routes[from][to] = f.walk(from, to)
			}
		}
	}
	table.direct()
	return table, nil
}

// direct adds the routes between hosts that are cabled to each other.
func (t *Table) direct() {
	for c := range 2 * len(t.t.Links) {
		if from, to := Ends(t.t, c); from.Host && to.Host {
			t.routes[from.Index][to.Index] = Route{{c}}
		}
	}
}

// Topology returns the topology, which is not to be changed.
func (t *Table) Topology() *fabric.Topology { return t.t }

// Tree returns the spanning tree.
func (t *Table) Tree() *Tree { return t.tree }

// Route returns the way between two different hosts, or nil if there is none.
func (t *Table) Route(from, to int) Route { return t.routes[from][to] }

// Each calls f for every route, in the order of senders and receivers.
func (t *Table) Each(f func(from, to int, r Route)) {
	for from := range t.routes {
		for to, r := range t.routes[from] {
			if r != nil {
				f(from, to, r)
			}
		}
	}
}

// Unreachable returns an error that names the hosts that have no way to some other host, or nil.
func (t *Table) Unreachable() error {
	group := make([]int, len(t.routes)) // the host with the lowest number that each has a way to
	count := make(map[int]int)
	for from := range t.routes {
		group[from] = from
		for to := range from {
			if t.routes[from][to] != nil {
				group[from] = to
				break
			}
		}
		count[group[from]]++
	}
	best := 0
	for g := range group {
		if count[g] > count[best] {
			best = g
		}
	}
	var names []string
	for h, g := range group {
		if g != best {
			names = append(names, t.t.Hosts[h])
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("routing: no way from %s to %s; check cables and what has failed", t.t.Hosts[best], strings.Join(names, ", "))
}

// Bytes returns the route bytes of a leg.
func (t *Table) Bytes(leg Leg) []byte { return RouteBytes(t.t, leg) }

// RouteBytes returns the route bytes of a leg through a topology.
func RouteBytes(t *fabric.Topology, leg Leg) []byte {
	bytes := make([]byte, 0, len(leg))
	for i := 1; i < len(leg); i++ {
		_, in := Ends(t, leg[i-1])
		out, _ := Ends(t, leg[i])
		bytes = append(bytes, fabric.RouteByte(out.Port-in.Port))
	}
	return bytes
}

// Transit returns the in-transit hosts of a route.
func (t *Table) Transit(r Route) (hosts []int) {
	for _, leg := range r[:len(r)-1] {
		_, end := Ends(t.t, leg[len(leg)-1])
		hosts = append(hosts, end.Index)
	}
	return hosts
}

// Switches returns through how many switches a route leads, those of in-transit hosts counted twice.
func (r Route) Switches() (n int) {
	for _, leg := range r {
		n += len(leg) - 1
	}
	return n
}

// finder computes routes to the hosts of one switch after the other.
type finder struct {
	*Table
	hosts  [][]int // of each switch
	edges  [][]edge
	cost   []int64 // of the way from each state to the switch searched for; -1: none
	queue  vtime.Queue[int]
	chance *rand.Rand
	load   []int // routes through each channel so far
	stops  []int // in-transit routes through each host so far
}

// edge is a channel between two switches.
type edge struct {
	channel, to int
	up          bool
}

// A state is a switch and whether the way has gone down: 2*switch, and one more if it has. A hop costs far more
// than a stop at a host.
const (
	hopCost  = 1 << 32
	stopCost = 1
)

func newFinder(t *Table) *finder {
	f := &finder{Table: t, hosts: make([][]int, len(t.t.Switches)), edges: make([][]edge, len(t.t.Switches)),
		cost: make([]int64, 2*len(t.t.Switches)), chance: rand.New(rand.NewPCG(t.Seed, 0)),
		load: make([]int, 2*len(t.t.Links)), stops: make([]int, len(t.t.Hosts))}
	for s := range t.t.Switches {
		for p := range t.t.Switches[s].Ports {
			c := Channel(t.t, t.cabling, fabric.SwitchEnd(s, p))
			if c < 0 {
				continue
			}
			switch _, to := Ends(t.t, c); {
			case to.Host:
				f.hosts[s] = append(f.hosts[s], to.Index)
			case to.Index != s: // a cable from a switch to itself leads nowhere
				f.edges[s] = append(f.edges[s], edge{c, to.Index, t.tree.Up(s, to.Index)})
			}
		}
	}
	return f
}

// next returns the state after an edge, and whether it may be taken.
func (f *finder) next(down bool, e edge) (state int, ok bool) {
	switch {
	case f.Scheme == Shortest:
		return 2 * e.to, true
	case e.up:
		return 2 * e.to, !down
	}
	return 2*e.to + 1, true
}

// search works out the costs of ways to a switch, from all states.
func (f *finder) search(to int) {
	for i := range f.cost {
		f.cost[i] = -1
	}
	reach := func(state int, cost int64) {
		if f.cost[state] < 0 || cost < f.cost[state] {
			f.cost[state] = cost
			f.queue.Push(vtime.Time(cost), state)
		}
	}
	reach(2*to, 0)
	reach(2*to+1, 0)
	for f.queue.Len() > 0 {
		at, state := f.queue.Pop()
		cost := int64(at)
		if cost > f.cost[state] {
			continue
		}
		s, down := state/2, state%2 == 1
		if !down && f.Scheme == InTransit && len(f.hosts[s]) > 0 {
			reach(state+1, cost+stopCost)
		}
		for _, e := range f.edges[s] {
			// The edge back leads from e.to to s.
			back := edge{to: s, up: !e.up}
			for _, before := range []bool{false, true} {
				if next, ok := f.next(before, back); ok && next == state {
					from := 2 * e.to
					if before {
						from++
					}
					reach(from, cost+hopCost)
				}
			}
		}
	}
}

// walk returns a way from a host to one of the switch that was searched for.
func (f *finder) walk(from, to int) Route {
	first := Channel(f.t, f.cabling, fabric.HostEnd(from))
	if first < 0 || from == to {
		return nil
	}
	_, at := Ends(f.t, first)
	if at.Host || f.cost[2*at.Index] < 0 {
		return nil
	}
	leg := Leg{first}
	var route Route
	for state := 2 * at.Index; f.cost[state] > 0; {
		s, down := state/2, state%2 == 1
		if down && f.Scheme == InTransit && f.cost[state-1] >= 0 && f.cost[state] == f.cost[state-1]+stopCost && len(f.hosts[s]) > 0 && !f.onward(state) {
			h := f.choose(len(f.hosts[s]), func(i int) int { return f.stops[f.hosts[s][i]] })
			host := f.hosts[s][h]
			f.stops[host]++
			out := Channel(f.t, f.cabling, fabric.HostEnd(host))
			route = append(route, append(leg, out^1))
			leg, state = Leg{out}, state-1
			continue
		}
		var choices []edge
		for _, e := range f.edges[s] {
			if next, ok := f.next(down, e); ok && f.cost[next] >= 0 && f.cost[next]+hopCost == f.cost[state] {
				choices = append(choices, e)
			}
		}
		e := choices[f.choose(len(choices), func(i int) int { return f.load[choices[i].channel] })]
		f.load[e.channel]++
		leg = append(leg, e.channel)
		state, _ = f.next(down, e)
	}
	last := Channel(f.t, f.cabling, fabric.HostEnd(to)) ^ 1
	return append(route, append(leg, last))
}

// onward reports whether a best way goes on from a state without a stop.
func (f *finder) onward(state int) bool {
	for _, e := range f.edges[state/2] {
		if next, ok := f.next(state%2 == 1, e); ok && f.cost[next] >= 0 && f.cost[next]+hopCost == f.cost[state] {
			return true
		}
	}
	return false
}

// choose returns one of n equal choices.
func (f *finder) choose(n int, used func(int) int) int {
	best := 0
	switch f.Spread {
	case Random:
		return f.chance.IntN(n)
	case Balanced:
		for i := 1; i < n; i++ {
			if used(i) < used(best) {
				best = i
			}
		}
	}
	return best
}
