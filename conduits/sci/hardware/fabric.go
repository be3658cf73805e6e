package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// fabric is the links between the adapters. All links are one-way and form rings; a request
// goes along a ring to its target, and the answer goes on along the rest of that ring, so that
// every transaction loads whole rings, as SCI's does.
//
//   - torus: hosts in rows and columns, each a ring; requests go along the row first. What
//     changes from row to column passes through the adapter at the corner. A ring is a torus
//     of one row. The last row may be incomplete in hosts, not in adapters.
//   - switch: rings of a few hosts and one port of a switch that blocks nothing. With one host
//     per port, the ring is that host's cable: one link to the switch and one back.
type fabric struct {
	width, height int  // torus: hosts per row and rows; switch: hosts per port and ports
	switched      bool // the rings meet in a switch
	links         []link
	path          []hop // scratch
}

// link is one cable in one direction.
type link struct {
	server
	cut bool
}

// hop is a step of a route.
type hop struct {
	link int
	turn bool // onto another ring than the step before
}

func newFabric(p *Profile, nodes int) fabric {
	f := fabric{width: p.Topology.Width, switched: p.Topology.Shape == "switch"}
	switch {
	case p.Topology.Shape == "ring":
		f.width = nodes
	case f.width == 0:
		f.width = squareWidth(nodes)
	}
	f.height = (nodes + f.width - 1) / f.width
	if f.switched {
		f.links = make([]link, (f.width+1)*f.height)
	} else {
		f.links = make([]link, 2*f.width*f.height)
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

// request returns the route from one node to another. The slice is valid until the next call.
func (f *fabric) request(from, to int) []hop {
	f.path = f.path[:0]
	fx, fy, tx, ty := from%f.width, from/f.width, to%f.width, to/f.width
	switch {
	case !f.switched:
		f.row(fy, fx, tx)
		f.column(tx, fy, ty)
	case fy == ty:
		f.port(fy, fx, tx)
	default:
		f.port(fy, fx, f.width)
		f.port(ty, f.width, tx)
	}
	return f.path
}

// answer returns the route that the answer to a request takes: the rest of each ring, the
// last ring first. The slice is valid until the next call.
func (f *fabric) answer(from, to int) []hop {
	f.path = f.path[:0]
	fx, fy, tx, ty := from%f.width, from/f.width, to%f.width, to/f.width
	switch {
	case !f.switched:
		f.column(tx, ty, fy)
		f.row(fy, tx, fx)
	case fy == ty:
		f.port(fy, tx, fx)
	default:
		f.port(ty, tx, f.width)
		f.port(fy, f.width, fx)
	}
	return f.path
}

// row appends the way from column x to column end of a torus's row y. The link that leaves
// (x, y) along the row has the number of that host.
func (f *fabric) row(y, x, end int) { f.travel(y*f.width, 1, f.width, x, end) }

// column appends the way from row y to row end of column x. The links along columns are
// numbered after those along rows.
func (f *fabric) column(x, y, end int) {
	f.travel(f.width*f.height+x, f.width, f.height, y, end)
}

// port appends the way from place i to place end of the ring at a port of the switch, which
// itself has the last place.
func (f *fabric) port(ring, i, end int) { f.travel(ring*(f.width+1), 1, f.width+1, i, end) }

// travel appends the way from place i to place end of a ring of n, whose links are numbered
// first, first+stride, and so on.
func (f *fabric) travel(first, stride, n, i, end int) {
	for turn := len(f.path) > 0; i != end; turn = false {
		f.path = append(f.path, hop{first + i*stride, turn})
		i = next(i, n)
	}
}

func next(i, n int) int {
	if i++; i == n {
		return 0
	}
	return i
}

// carry takes bytes along a path, from time at on, and returns when the last of them has
// arrived. Each link passes a packet on as soon as it has its head (cut-through), and is taken
// for the whole packet. It returns false if a link is cut.
func (m *Machine) carry(path []hop, at vtime.Time, bytes int) (vtime.Time, bool) {
	p := m.profile
	length := p.Link.Rate.Time(bytes)
	head, tail := at, at
	for _, h := range path {
		l := &m.fabric.links[h.link]
		if l.cut {
			return 0, false
		}
		if h.turn {
			head += p.Link.Turn
		}
		end := l.use(head, length)
		head, tail = end-length+p.Link.Hop, end+p.Link.Hop
	}
	return tail, true
}

// reaches tells whether requests of one node to another, and their answers, come through.
func (m *Machine) reaches(from, to *Node) bool {
	if from.lost || to.lost {
		return false
	}
	if from == to {
		return true
	}
	for _, h := range m.fabric.request(from.id, to.id) {
		if m.fabric.links[h.link].cut {
			return false
		}
	}
	for _, h := range m.fabric.answer(from.id, to.id) {
		if m.fabric.links[h.link].cut {
			return false
		}
	}
	return true
}

// Links returns how many links the machine has.
func (m *Machine) Links() int { return len(m.fabric.links) }

// LinkName says which link i is.
func (m *Machine) LinkName(i int) string {
	f := &m.fabric
	if f.switched {
		ring, place := i/(f.width+1), i%(f.width+1)
		if place == f.width {
			return fmt.Sprintf("from port %d of the switch", ring)
		}
		return fmt.Sprintf("from node %d, port %d", ring*f.width+place, ring)
	}
	if hosts := f.width * f.height; i >= hosts {
		return fmt.Sprintf("from node %d along its column", i-hosts)
	}
	return fmt.Sprintf("from node %d along its row", i)
}

// Route returns the links of a request from one node to another and those of its answer.
func (m *Machine) Route(from, to int) (request, answer []int) {
	for _, h := range m.fabric.request(from, to) {
		request = append(request, h.link)
	}
	for _, h := range m.fabric.answer(from, to) {
		answer = append(answer, h.link)
	}
	return request, answer
}
