package fabric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Shape generates topologies. Switches are s0, s1 and so on, and hosts h0, h1 and so on, those of one switch in a
// row. The hosts of a switch have its first ports. All ports are of one kind, and all cables of one length, rate and delay.
type Shape struct {
	Hosts  int // of each switch; of a fat tree those of a switch at the bottom are its Arity instead
	Ports  int // of each switch; 0: as many as are needed, and 8 at least
	Kind   Kind
	Length int          // of cables in centimetres; 0: DefaultLength
	Rate   machine.Rate // of cables; 0: that of the constants
	Delay  vtime.Time   // of cables; 0: what the length takes
}

// DefaultPorts is how many ports a switch has when nothing else is said.
const DefaultPorts = 8

// builder makes a topology of switches that are alike.
type builder struct {
	*Topology
	cable Link  // without ends
	taken []int // ports of each switch that have a cable
}

// start returns a topology of n switches, with their hosts but no cables between them.
func (s Shape) start(n, hosts, between int, about string) (*builder, error) {
	ports := s.Ports
	if ports == 0 {
		ports = max(DefaultPorts, hosts+between)
	}
	length := s.Length
	if length == 0 {
		length = DefaultLength
	}
	switch {
	case n < 1 || n > maxSwitches:
		return nil, fmt.Errorf("fabric: %s of %d switches; there can be 1 to %d", about, n, maxSwitches)
	case hosts < 0 || hosts > MaxPorts || between < 0 || hosts+between > ports || ports > MaxPorts:
		return nil, fmt.Errorf("fabric: %s needs %d ports for hosts and %d for switches; its switches have %d, and %d is the most",
			about, hosts, between, ports, MaxPorts)
	}
	b := &builder{Topology: &Topology{About: about}, cable: Link{Length: length, Rate: s.Rate, Delay: s.Delay}, taken: make([]int, n)}
	for i := range n {
		b.AddSwitch("s"+strconv.Itoa(i), slices.Repeat([]Kind{s.Kind}, ports)...)
	}
	for i := range n {
		b.hosts(i, hosts)
	}
	return b, nil
}

// maxSwitches bounds what is generated or read.
const maxSwitches = 1 << 14

func (b *builder) hosts(s, n int) {
	for range n {
		h := b.AddHost("h" + strconv.Itoa(len(b.Hosts)))
		b.connect(HostEnd(h), b.port(s))
	}
}

// port returns the next port of a switch.
func (b *builder) port(s int) End {
	b.taken[s]++
	return SwitchEnd(s, b.taken[s]-1)
}

func (b *builder) connect(x, y End) {
	l := b.cable
	l.Ends = [2]End{x, y}
	b.Links = append(b.Links, l)
}

func (b *builder) join(s, t int) {
	e := b.port(s)
	b.connect(e, b.port(t))
}

// Line returns n switches in a row.
func (s Shape) Line(n int) (*Topology, error) { return s.Mesh(n) }

// Ring returns n switches in a circle: a torus of one dimension.
func (s Shape) Ring(n int) (*Topology, error) { return s.Torus(n) }

// Mesh returns switches in a grid of so many in each dimension.
func (s Shape) Mesh(size ...int) (*Topology, error) { return s.grid(false, size) }

// Torus returns a mesh of which each row is closed to a circle. A row of two is closed by a second cable, one of
// one is not.
func (s Shape) Torus(size ...int) (*Topology, error) { return s.grid(true, size) }

func (s Shape) grid(closed bool, size []int) (*Topology, error) {
	name, n, between := "a mesh", 1, 0
	switch {
	case len(size) == 1 && closed:
		name = "a ring"
	case closed:
		name = "a torus"
	case len(size) == 1:
		name = "a line"
	}
	var sides []string
	for _, side := range size {
		if side < 1 || side > maxSwitches/n {
			return nil, fmt.Errorf("fabric: %s of sides %v; a side has at least one switch, and there are at most %d", name, size, maxSwitches)
		}
		n *= side
		sides = append(sides, strconv.Itoa(side))
		if side > 2 || side == 2 && closed {
			between += 2
		} else {
			between += side - 1
		}
	}
	b, err := s.start(n, s.Hosts, between, name+" of "+strings.Join(sides, " x ")+" "+plural.Word(n, "switch", "switches"))
	if err != nil {
		return nil, err
	}
	for i := range n {
		stride := 1
		for _, side := range size {
			switch at := i / stride % side; {
			case at+1 < side:
				b.join(i, i+stride)
			case closed && side > 1:
				b.join(i, i-at*stride)
			}
			stride *= side
		}
	}
	return b.Topology, nil
}

// FatTree returns a tree of levels of switches in which the bandwidth is the same at each level: a k-ary n-tree, with k
// the arity. It has arity^levels hosts, and arity^(levels-1) switches a level, those at the bottom first.
func (s Shape) FatTree(levels, arity int) (*Topology, error) {
	about := fmt.Sprintf("a fat tree of %d levels and arity %d", levels, arity)
	if levels < 1 || arity < 1 || arity > MaxPorts {
		return nil, fmt.Errorf("fabric: %s; there is at least 1 level, and the arity is from 1 to %d", about, MaxPorts)
	}
	row := 1
	for range levels - 1 {
		if row *= arity; row*levels > maxSwitches || levels > 64 {
			return nil, fmt.Errorf("fabric: %s has more than %d switches", about, maxSwitches)
		}
	}
	up := arity
	if levels == 1 {
		up = 0
	}
	b, err := s.start(row*levels, 0, arity+up, about)
	if err != nil {
		return nil, err
	}
	for i := range row {
		b.hosts(i, arity)
	}
	// A switch of a level leads to those of the next that differ in one digit of their place, which is another one at
	// each level.
	stride := 1
	for level := range levels - 1 {
		for i := range row {
			digit := i / stride % arity
			for to := range arity {
				b.join(level*row+i, (level+1)*row+i+(to-digit)*stride)
			}
		}
		stride *= arity
	}
	return b.Topology, nil
}

// maxRandom bounds random topologies, of which all pairs of switches are looked at: 32 MB of them.
const maxRandom = 1 << 12

// Random returns an irregular topology of n switches: as many cables as ports are left beside the hosts, no two
// between the same switches, such that every switch is reached. Equal seeds give equal topologies. The published
// studies have switches of 8 ports with 4 hosts.
func (s Shape) Random(n int, seed uint64) (*Topology, error) {
	if n < 1 || n > maxRandom {
		return nil, fmt.Errorf("fabric: a random topology of %d switches; there can be 1 to %d", n, maxRandom)
	}
	b, err := s.start(n, s.Hosts, 0, fmt.Sprintf("a random topology of %s, seed %d", plural.Count(n, "switch", "switches"), seed))
	if err != nil {
		return nil, err
	}
	left := len(b.Switches[0].Ports) - s.Hosts
	if n > 1 && left < 1 || n > 2 && left < 2 {
		return nil, fmt.Errorf("fabric: %s: %d ports are left for other switches, which does not join them", b.About, left)
	}
	chance := rand.New(rand.NewPCG(seed, 0))
	joined := make(map[[2]int]bool)
	join := func(x, y int) {
		b.join(x, y)
		joined[[2]int{min(x, y), max(x, y)}] = true
	}
	free := func(x int) bool { return b.taken[x] < s.Hosts+left }
	// A tree first, in a random order.
	order := chance.Perm(n)
	for i := 1; i < n; i++ {
		var open []int
		for _, x := range order[:i] {
			if free(x) {
				open = append(open, x)
			}
		}
		join(open[chance.IntN(len(open))], order[i])
	}
	// Then whatever can be joined, each pair with the same chance.
	pairs := make([]uint32, 0, n*(n-1)/2) // both numbers in one
	for x := range n {
		for y := range x {
			pairs = append(pairs, uint32(y<<16|x))
		}
	}
	chance.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	for _, p := range pairs {
		x, y := int(p>>16), int(p&0xffff)
		if free(x) && free(y) && !joined[[2]int{x, y}] {
			join(x, y)
		}
	}
	return b.Topology, nil
}
