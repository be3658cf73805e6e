package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// An explorer finds out what a network is by asking questions of it, one after the other. Route bytes are relative, so
// that nobody knows the numbers of ports: a port of a switch is named by how far it is from the one by which the
// explorer first came in, which is port 0. A way back is the way there, reversed and negated.
type explorer struct {
	name  string
	ports int // of a switch, at the most
	ask   func(question) answer

	found []*place
	hosts map[string]port // where each host is
}

// question is a packet to be sent, and what is expected.
type question struct {
	kind  MessageKind // Probe or Scout
	route []int       // deltas
	back  []int       // deltas of the answer's route
}

// answer is what came back.
type answer struct {
	ok   bool
	from string // host that has answered
}

// place is a switch that has been found.
type place struct {
	index int
	path  []int // deltas of the switches before it; a packet then comes in by its port 0
	ports map[int]port
}

// port is a port of a switch; of a host if it has no switch.
type port struct {
	at   *place
	port int
	host string
}

// reverse returns the way back.
func reverse(path []int) []int {
	back := make([]int, len(path))
	for i, d := range path {
		back[len(path)-1-i] = -d
	}
	return back
}

// scout asks the host at the end of a way for its name.
func (x *explorer) scout(path ...int) (string, bool) {
	a := x.ask(question{Scout, path, reverse(path)})
	return a.from, a.ok
}

// probe reports whether a packet comes back here.
func (x *explorer) probe(path ...int) bool {
	return x.ask(question{kind: Probe, route: path}).ok
}

// explore finds all that can be reached.
func (x *explorer) explore() {
	x.hosts = make(map[string]port)
	if !x.probe(0) { // the switch here sends it back
		if name, ok := x.scout(); ok { // a host at the other end of the cable
			x.hosts[name] = port{}
		}
		return
	}
	first := &place{ports: map[int]port{0: {host: x.name}}}
	x.found = []*place{first}
	x.hosts[x.name] = port{at: first}
	for i := 0; i < len(x.found); i++ {
		x.search(x.found[i])
	}
}

// search looks behind all ports of a switch.
func (x *explorer) search(at *place) {
	for d := 1 - x.ports; d < x.ports; d++ {
		if _, known := at.ports[d]; known || !x.fits(at, d) {
			continue
		}
		way := append(slices.Clone(at.path), d)
		if name, ok := x.scout(way...); ok {
			x.place(at, d, name)
			continue
		}
		if !x.probe(slices.Concat(way, []int{0}, reverse(way))...) {
			continue
		}
		to := x.identify(way)
		at.ports[d] = to
		to.at.ports[to.port] = port{at: at, port: d}
	}
}

// place notes where a host is. A host that has been moved is where it answered last.
func (x *explorer) place(at *place, d int, name string) {
	if old, known := x.hosts[name]; known && old.at != nil {
		delete(old.at.ports, old.port)
	}
	at.ports[d] = port{host: name}
	x.hosts[name] = port{at: at, port: d}
}

// fits reports whether a switch can have a port, as far as is known from those in use.
func (x *explorer) fits(at *place, d int) bool {
	low, high := d, d
	for p := range at.ports {
		low, high = min(low, p), max(high, p)
	}
	return high-low < x.ports
}

// identify returns the switch and the port that a way leads to. That it is a switch which has been found before is
// seen by its hosts; or a packet that leaves it by a certain port comes back here by the way from that switch. As
// cables lead back where they lead from, only a packet from the very same port does.
func (x *explorer) identify(way []int) port {
	for d := 1 - x.ports; d < x.ports; d++ {
		if name, ok := x.scout(append(slices.Clone(way), d)...); d != 0 && ok {
			if known, ok := x.hosts[name]; ok && known.at != nil {
				return port{at: known.at, port: known.port - d}
			}
			break // a host that nobody knows
		}
	}
	for _, p := range x.found {
		for d := 1 - x.ports; d < x.ports; d++ {
			if q, used := p.ports[-d]; used && !(q.at == nil && q.host == "") || !x.fits(p, -d) {
				continue // another cable leads there
			}
			if x.probe(slices.Concat(way, []int{d}, reverse(p.path))...) {
				return port{at: p, port: -d}
			}
		}
	}
	n := &place{index: len(x.found), path: way, ports: make(map[int]port)}
	x.found = append(x.found, n)
	return port{at: n}
}

// topology returns what has been found, with ports numbered from the lowest that is used. Kinds of ports and lengths of
// cables are not known.
func (x *explorer) topology() *fabric.Topology {
	t := &fabric.Topology{About: "as found by " + x.name}
	low := make([]int, len(x.found))
	for i, p := range x.found {
		for d := range p.ports {
			low[i] = min(low[i], d)
		}
		name := fmt.Sprintf("switch-%d", i)
		for _, taken := x.hosts[name]; taken; _, taken = x.hosts[name] {
			name += "." // a host is called so
		}
		t.AddSwitch(name, make([]fabric.Kind, x.ports)...)
	}
	names := []string{x.name}
	for name := range x.hosts {
		if name != x.name {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		h := t.AddHost(name)
		if at := x.hosts[name]; at.at != nil {
			t.Connect(fabric.HostEnd(h), fabric.SwitchEnd(at.at.index, at.port-low[at.at.index]), fabric.DefaultLength)
		}
	}
	if len(x.found) == 0 && len(names) == 2 {
		t.Connect(fabric.HostEnd(0), fabric.HostEnd(1), fabric.DefaultLength)
	}
	for i, p := range x.found {
		for d := range x.ports {
			to, ok := p.ports[d+low[i]]
			if !ok || to.at == nil || to.at == p && to.port <= d+low[i] || to.at.index < i {
				continue
			}
			t.Connect(fabric.SwitchEnd(i, d), fabric.SwitchEnd(to.at.index, to.port-low[to.at.index]), fabric.DefaultLength)
		}
	}
	return t
}
