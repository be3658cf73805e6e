package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// fabric is the links between the adapters. All links are one-way and form rings; a request
// goes along a ring to its target, and the answer goes on along the rest of that ring, so that
// every transaction loads whole rings, as SCI's does.
//
//   - torus: hosts in rows and columns, each a ring; requests go along the row first. What
//     changes from row to column passes through the adapter at the corner. A ring is a torus
//     of one row. The last row may be incomplete in hosts, not in adapters.
//   - switch: rings of a few hosts and one port of a switch that blocks nothing inside. With one
//     host per port, the ring is that host's cable: one link to the switch and one back, and
//     these are all that hosts compete for. Up to topology.radix ports are one switch; more
//     are a multistage network, through which every way is equally long.
type fabric struct {
	width, height int32      // torus: hosts per row and rows; switch: hosts per port and ports
	switched      bool       // the rings meet in a switch
	turn          vtime.Time // from one ring to the next
	links         []link
	cuts          int // links that are cut
}

// link is a cable that can be cut.
type link struct {
	hw.Link
	cut bool
}

func newFabric(p *Profile, nodes int) fabric {
	f := fabric{switched: p.Topology.Shape == "switch", turn: p.Link.Turn}
	width := p.Topology.Width
	switch {
	case p.Topology.Shape == "ring":
		width = nodes
	case width == 0:
		width = squareWidth(nodes)
	}
	height := (nodes + width - 1) / width
	f.width, f.height = int32(width), int32(height)
	if f.switched {
		n := vtime.Time(stages(height, p.Topology.Radix))
		f.turn = n*p.Link.Turn + (n-1)*p.Link.Hop
		f.links = make([]link, (width+1)*height)
	} else {
		f.links = make([]link, 2*width*height)
	}
	return f
}

// squareWidth returns how many hosts a row of a nearly square torus has: 4 for 8 hosts.
func squareWidth(nodes int) int {
	rows := 1
	for (rows+1)*(rows+1) <= nodes {
		rows++
	}
	return (nodes + rows - 1) / rows
}

// stages returns how many switches of radix ports lie on the way between ports: the logarithm
// of their number, rounded up.
func stages(ports, radix int) int {
	n := 1
	for reached := radix; reached < ports; reached *= radix {
		n++
	}
	return n
}

// arc is a way along one ring: from place at to place end of a ring of size places, whose links
// are numbered first, first+stride, and so on. The zero arc is no way at all.
type arc struct{ first, stride, size, at, end int32 }

// route is what is left of a packet's way: the rest of one ring, and perhaps another.
type route struct{ now, then arc }

// link returns the link that is next.
func (r *route) link() int { return int(r.now.first + r.now.at*r.now.stride) }

// step passes the next link. It tells whether there is another one, and whether that belongs
// to the other ring.
func (r *route) step() (more, turn bool) {
	if r.now.at++; r.now.at == r.now.size {
		r.now.at = 0
	}
	if r.now.at != r.now.end {
		return true, false
	}
	r.now, r.then = r.then, arc{}
	turn = r.now.at != r.now.end
	return turn, turn
}

// ahead tells what the next step will tell.
func (r *route) ahead() (more, turn bool) {
	at := r.now.at + 1
	if at == r.now.size {
		at = 0
	}
	if at != r.now.end {
		return true, false
	}
	turn = r.then.at != r.then.end
	return turn, turn
}

// join returns the route over two arcs, of which one may be empty.
func join(a, b arc) route {
	if a.at == a.end {
		return route{now: b}
	}
	return route{now: a, then: b}
}

// spot is where a host is: its column and its row; with a switch, its place at a port and that
// port.
type spot struct{ x, y int32 }

func (f *fabric) spot(host int) spot { return spot{int32(host) % f.width, int32(host) / f.width} }

// sites returns how many sites the machine has: with a switch its ports, and hosts otherwise.
func (f *fabric) sites() int {
	if f.switched {
		return int(f.height)
	}
	return len(f.links) / 2
}

// site returns the site that a link leaves.
func (f *fabric) site(link int) int {
	switch {
	case f.direct():
		return link / 2
	case f.switched:
		return link / int(f.width+1)
	}
	if n := f.sites(); link >= n {
		return link - n
	}
	return link
}

// home returns the site of a host.
func (f *fabric) home(host int) int {
	if f.switched {
		return int(f.spot(host).y)
	}
	return host
}

// direct tells whether every host has a port of the switch to itself.
func (f *fabric) direct() bool { return f.switched && f.width == 1 }

// oneWayIn tells whether all that comes to a host comes over one link.
func (f *fabric) oneWayIn() bool { return f.switched || f.width == 1 || f.height == 1 }

// waysIn returns the sites from which links lead to a host.
func (f *fabric) waysIn(s spot) [2]int {
	before := func(i, size int32) int32 { return (i + size - 1) % size }
	if f.switched {
		return [2]int{int(s.y), int(s.y)}
	}
	return [2]int{int(s.y*f.width + before(s.x, f.width)), int(before(s.y, f.height)*f.width + s.x)}
}

// request returns the route from one node to another, which must not be the same.
func (f *fabric) request(from, to spot) route {
	switch {
	case f.direct():
		return route{arc{2 * from.y, 1, 2, 0, 1}, arc{2 * to.y, 1, 2, 1, 0}}
	case !f.switched:
		return join(f.row(from.y, from.x, to.x), f.column(to.x, from.y, to.y))
	case from.y == to.y:
		return route{now: f.port(from.y, from.x, to.x)}
	default:
		return join(f.port(from.y, from.x, f.width), f.port(to.y, f.width, to.x))
	}
}

// answer returns the route that the answer to a request takes: the rest of each ring, the
// last ring first.
func (f *fabric) answer(from, to spot) route {
	switch {
	case f.direct():
		return f.request(to, from)
	case !f.switched:
		return join(f.column(to.x, to.y, from.y), f.row(from.y, to.x, from.x))
	case from.y == to.y:
		return route{now: f.port(from.y, to.x, from.x)}
	default:
		return join(f.port(to.y, to.x, f.width), f.port(from.y, f.width, from.x))
	}
}

// row returns the way from column x to column end of a torus's row y. The link that leaves
// (x, y) along the row has the number of that host.
func (f *fabric) row(y, x, end int32) arc { return arc{y * f.width, 1, f.width, x, end} }

// column returns the way from row y to row end of column x. The links along columns are
// numbered after those along rows.
func (f *fabric) column(x, y, end int32) arc {
	return arc{f.width*f.height + x, f.width, f.height, y, end}
}

// port returns the way from place i to place end of the ring at a port of the switch, which
// itself has the last place.
func (f *fabric) port(ring, i, end int32) arc {
	return arc{ring * (f.width + 1), 1, f.width + 1, i, end}
}

// links appends the links of a route.
func (r route) links(to []int) []int {
	for more := true; more; more, _ = r.step() {
		to = append(to, r.link())
	}
	return to
}

// works tells whether no link of a route is cut.
func (f *fabric) works(r route) bool {
	for more := true; more; more, _ = r.step() {
		if f.links[r.link()].cut {
			return false
		}
	}
	return true
}

// reaches tells whether requests of one node to another, and their answers, come through.
func (m *Machine) reaches(from, to *Node) bool {
	if from.lost || to.lost {
		return false
	}
	f := &m.fabric
	return from == to || f.cuts == 0 || f.works(f.request(from.spot, to.spot)) && f.works(f.answer(from.spot, to.spot))
}

// Links returns how many links the machine has.
func (m *Machine) Links() int { return len(m.fabric.links) }

// LinkName says which link i is.
func (m *Machine) LinkName(i int) string {
	f := &m.fabric
	width, height := int(f.width), int(f.height)
	if f.switched {
		ring, place := i/(width+1), i%(width+1)
		if place == width {
			return fmt.Sprintf("from port %d of the switch", ring)
		}
		return fmt.Sprintf("from node %d, port %d", ring*width+place, ring)
	}
	if hosts := width * height; i >= hosts {
		return fmt.Sprintf("from node %d along its column", i-hosts)
	}
	return fmt.Sprintf("from node %d along its row", i)
}

// Route returns the links of a request from one node to another and those of its answer.
func (m *Machine) Route(from, to int) (request, answer []int) {
	if from == to {
		return nil, nil
	}
	f := &m.fabric
	a, b := f.spot(from), f.spot(to)
	return f.request(a, b).links(nil), f.answer(a, b).links(nil)
}
