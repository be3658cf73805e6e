package fabric

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Kind is the kind of a port, which decides how long a switch takes.
type Kind uint8

// The kinds of ports.
const (
	SAN Kind = iota // short cables, within a cabinet
	LAN             // longer ones
)

// String returns the name of the kind, as topologies write it.
func (k Kind) String() string {
	if k == LAN {
		return "LAN"
	}
	return "SAN"
}

// MaxPorts is how many ports a switch can have: as far as a route byte reaches, see RouteByte.
const MaxPorts = 32

// Switch is a crossbar.
type Switch struct {
	Name  string
	Ports []Kind // of each port
}

// End is a port of a switch or of a host, where a cable ends.
type End struct {
	Host  bool
	Index int // of the host or the switch
	Port  int // 0 for a host
}

// Link is a cable, of both directions.
type Link struct {
	Ends   [2]End
	Length int          // in centimetres
	Rate   machine.Rate // 0: that of the constants
	Delay  vtime.Time   // of a byte from end to end; 0: what the length takes, by the constants
}

// Topology says which hosts and switches there are, and what is cabled to what. Hosts and switches are
// numbered in the order in which they are added, from 0.
type Topology struct {
	About    string
	Hosts    []string // names
	Switches []Switch
	Links    []Link
}

// DefaultLength is the length of a cable for which none is given, in centimetres.
const DefaultLength = 1000

// AddSwitch adds a switch, with the kinds of its ports, and returns its number.
func (t *Topology) AddSwitch(name string, ports ...Kind) int {
	t.Switches = append(t.Switches, Switch{name, ports})
	return len(t.Switches) - 1
}

// AddHost adds a host and returns its number.
func (t *Topology) AddHost(name string) int {
	t.Hosts = append(t.Hosts, name)
	return len(t.Hosts) - 1
}

// Connect adds a cable of a length in centimetres, with the rate and the delay that follow from the constants.
func (t *Topology) Connect(a, b End, length int) {
	t.Links = append(t.Links, Link{Ends: [2]End{a, b}, Length: length})
}

// Host returns the number of the host of that name.
func (t *Topology) Host(name string) (int, bool) {
	i := slices.Index(t.Hosts, name)
	return i, i >= 0
}

// Switch returns the number of the switch of that name.
func (t *Topology) Switch(name string) (int, bool) {
	i := slices.IndexFunc(t.Switches, func(s Switch) bool { return s.Name == name })
	return i, i >= 0
}

// HostEnd returns the port of host h.
func HostEnd(h int) End { return End{Host: true, Index: h} }

// SwitchEnd returns port p of switch s.
func SwitchEnd(s, p int) End { return End{Index: s, Port: p} }

// EndName returns a port's name, as topologies write it: "s3:7", or the name of a host.
func (t *Topology) EndName(e End) string {
	if e.Host {
		return t.Hosts[e.Index]
	}
	return t.Switches[e.Index].Name + ":" + strconv.Itoa(e.Port)
}

// Other returns the end of the link that is not e.
func (l *Link) Other(e End) End {
	if l.Ends[0] == e {
		return l.Ends[1]
	}
	return l.Ends[0]
}

// Cabling is a topology by its ports. It says what it said when it was made.
type Cabling struct {
	hosts    []int   // the link of each host, or -1
	switches [][]int // the link of each port of each switch, or -1
}

// Cabling returns the links by the ports that they end at. The topology must be one that Check accepts.
func (t *Topology) Cabling() *Cabling {
	c := &Cabling{hosts: make([]int, len(t.Hosts)), switches: make([][]int, len(t.Switches))}
	for i := range c.hosts {
		c.hosts[i] = -1
	}
	for i := range c.switches {
		c.switches[i] = slices.Repeat([]int{-1}, len(t.Switches[i].Ports))
	}
	for i := range t.Links {
		for _, e := range t.Links[i].Ends {
			*c.at(e) = i
		}
	}
	return c
}

func (c *Cabling) at(e End) *int {
	if e.Host {
		return &c.hosts[e.Index]
	}
	return &c.switches[e.Index][e.Port]
}

// Link returns the number of the link that ends at a port, or -1.
func (c *Cabling) Link(e End) int { return *c.at(e) }

// Check returns what is wrong with a topology: names that are missing or given twice, ports that do not exist,
// ports with two cables, cables from a port to itself. What no cable reaches is no error here.
func (t *Topology) Check() error {
	names := make(map[string]bool)
	for _, name := range t.Hosts {
		if err := checkName(name, names); err != nil {
			return err
		}
	}
	for i := range t.Switches {
		s := &t.Switches[i]
		if err := checkName(s.Name, names); err != nil {
			return err
		}
		if err := checkPorts(s); err != nil {
			return err
		}
	}
	taken := make(map[End]bool)
	for i := range t.Links {
		if err := t.checkLink(&t.Links[i], taken); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string, names map[string]bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if names[name] {
		return fmt.Errorf("%q is given twice; hosts and switches have different names", name)
	}
	names[name] = true
	return nil
}

// CheckName returns an error if a host or a switch cannot have a name: it has 1 to 64 letters, digits, and any of '-', '_'
// and '.'.
func CheckName(name string) error {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("%q is no name; names are of letters, digits, and any of '-', '_', '.'", name)
		}
	}
	if name == "" || len(name) > 64 {
		return fmt.Errorf("a name has 1 to 64 letters, not %d", len(name))
	}
	return nil
}

func checkPorts(s *Switch) error {
	if n := len(s.Ports); n < 1 || n > MaxPorts {
		return fmt.Errorf("switch %s has %d ports; it can have 1 to %d, as far as a route byte reaches", s.Name, n, MaxPorts)
	}
	return nil
}

// MaxLength is the longest cable, in centimetres; far more than the slack buffer of any profile allows.
const MaxLength = 1_000_000

// Bounds of a link's own rate and delay, far beyond any hardware, within which no sum of times overflows.
const (
	maxPeriod = vtime.Millisecond
	maxDelay  = vtime.Millisecond
)

func (t *Topology) checkLink(l *Link, taken map[End]bool) error {
	for _, e := range l.Ends {
		switch {
		case e.Host && (e.Index < 0 || e.Index >= len(t.Hosts) || e.Port != 0):
			return fmt.Errorf("a link ends at port %d of host %d, of which there are %d with a port 0 each", e.Port, e.Index, len(t.Hosts))
		case !e.Host && (e.Index < 0 || e.Index >= len(t.Switches)):
			return fmt.Errorf("a link ends at switch %d, of which there are %d", e.Index, len(t.Switches))
		case !e.Host && (e.Port < 0 || e.Port >= len(t.Switches[e.Index].Ports)):
			s := &t.Switches[e.Index]
			return fmt.Errorf("switch %s has no port %d; its ports are 0 to %d", s.Name, e.Port, len(s.Ports)-1)
		case taken[e]:
			return fmt.Errorf("%s has a cable already", t.EndName(e))
		}
		taken[e] = true
	}
	if l.Length < 0 || l.Length > MaxLength {
		return fmt.Errorf("a cable of %d cm; it can have 0 to %d", l.Length, MaxLength)
	}
	if p := l.Rate.Time(1); l.Rate != 0 && (p < 1 || p > maxPeriod) {
		return fmt.Errorf("a link on which a byte takes %v; it can take 1 ps to %v", p, maxPeriod)
	}
	if l.Delay < 0 || l.Delay > maxDelay {
		return fmt.Errorf("a link along which a byte takes %v; it can take up to %v", l.Delay, maxDelay)
	}
	return nil
}
