package fabric

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// maxFile bounds the text of a topology, in bytes: enough for maxSwitches.
const maxFile = 4 << 20

// Read reads a topology from a text; name is what errors call it. Its lines are:
//
//	about  the testbed of two switches    # what it is, and a comment
//	switch s0 4 LAN 4 SAN                 # its ports, from 0 on
//	switch s1 8 SAN
//	host   h0 s0:0 10 m                   # the port that its cable leads to; 10 m if nothing is said
//	host   h1                             # without a cable
//	link   s0:4 s1:0 1.5 m                # a cable between two ports
//	link   s0:5 s1:1 3 m 80 MB/s 20 ns    # with a rate and a delay of its own
//
// What is said of a cable is its length, its rate and how long a byte is on it, each at most once. Units of rates and times
// are those of machine files. A rate or a delay that is not said follows from the constants of the fabric, the delay
// by the length.
//
// A name stands for what a line before has called so. Errors say line and reason.
func Read(name string, r io.Reader) (*Topology, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("fabric: %s: %w", name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("fabric: %s has more than %d bytes", name, maxFile)
	}
	return Parse(name, string(text))
}

// Parse is Read of a string.
func Parse(name, text string) (*Topology, error) {
	p := parser{names: make(map[string]bool), ends: make(map[string]End), taken: make(map[End]bool)}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.line(words); err != nil {
			return nil, fmt.Errorf("fabric: %s:%d: %w", name, i+1, err)
		}
	}
	if len(p.t.Hosts) == 0 {
		return nil, fmt.Errorf("fabric: %s has no host; a line such as 'host h0 s0:0' makes one", name)
	}
	return &p.t, nil
}

type parser struct {
	t     Topology
	names map[string]bool
	ends  map[string]End // of hosts and switches by name
	taken map[End]bool
}

func (p *parser) line(words []string) error {
	switch words[0] {
	case "about":
		if p.t.About != "" || len(words) == 1 {
			return fmt.Errorf("one line says: about <what the topology is>")
		}
		p.t.About = strings.Join(words[1:], " ")
		return nil
	case "switch":
		return p.addSwitch(words[1:])
	case "host":
		return p.addHost(words[1:])
	case "link":
		return p.addLink(words[1:])
	}
	return fmt.Errorf("%q begins no line; about, switch, host and link do", words[0])
}

func (p *parser) addSwitch(words []string) error {
	if len(words) < 3 || len(words)%2 == 0 {
		return fmt.Errorf("the line is: switch <name> <number> SAN|LAN ..., such as: switch s0 4 LAN 4 SAN")
	}
	if len(p.t.Switches) == maxSwitches {
		return fmt.Errorf("more than %d switches", maxSwitches)
	}
	s := Switch{Name: words[0]}
	for i := 1; i < len(words); i += 2 {
		n, err := strconv.Atoi(words[i])
		if err != nil || n < 1 || n > MaxPorts {
			return fmt.Errorf("%q is no number of ports; a switch has 1 to %d", words[i], MaxPorts)
		}
		kind := SAN
		switch words[i+1] {
		case "LAN":
			kind = LAN
		case "SAN":
		default:
			return fmt.Errorf("%q is no kind of port; there are SAN and LAN", words[i+1])
		}
		for range n {
			s.Ports = append(s.Ports, kind)
		}
	}
	if err := checkPorts(&s); err != nil {
		return err
	}
	if err := checkName(s.Name, p.names); err != nil {
		return err
	}
	p.ends[s.Name] = SwitchEnd(p.t.AddSwitch(s.Name, s.Ports...), 0)
	return nil
}

func (p *parser) addHost(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("the line is: host <name> <switch>:<port> [<length> m] [<rate> MB/s] [<delay> ns]")
	}
	if err := checkName(words[0], p.names); err != nil {
		return err
	}
	h := HostEnd(p.t.AddHost(words[0]))
	p.ends[words[0]] = h
	if len(words) == 1 {
		return nil
	}
	e, err := p.end(words[1])
	if err != nil {
		return err
	}
	return p.connect(h, e, words[2:])
}

func (p *parser) addLink(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("the line is: link <switch>:<port> <switch>:<port> [<length> m] [<rate> MB/s] [<delay> ns]")
	}
	a, err := p.end(words[0])
	if err != nil {
		return err
	}
	b, err := p.end(words[1])
	if err != nil {
		return err
	}
	return p.connect(a, b, words[2:])
}

func (p *parser) connect(a, b End, words []string) error {
	l := Link{Ends: [2]End{a, b}, Length: DefaultLength}
	said := make(map[string]bool)
	for ; len(words) > 0; words = words[2:] {
		if len(words) == 1 {
			return notQuantity(words[0])
		}
		what, err := l.quantity(words[0], words[1])
		if err != nil {
			return err
		}
		if said[what] {
			return fmt.Errorf("a second %s of the cable: %s %s", what, words[0], words[1])
		}
		said[what] = true
	}
	if err := p.t.checkLink(&l, p.taken); err != nil {
		return err
	}
	p.t.Links = append(p.t.Links, l)
	return nil
}

// end reads the port of a switch, or the name of a host.
func (p *parser) end(word string) (End, error) {
	name, port, isPort := strings.Cut(word, ":")
	e, ok := p.ends[name]
	switch {
	case !ok:
		return e, fmt.Errorf("no host or switch before this line is called %q", name)
	case e.Host && isPort:
		return e, fmt.Errorf("%s is a host, which has one port: write %s alone", name, name)
	case !e.Host && !isPort:
		return e, fmt.Errorf("%s is a switch: write %s:<port>", name, name)
	case e.Host:
		return e, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return e, fmt.Errorf("%q is no number of a port", port)
	}
	e.Port = n
	return e, nil
}

// quantity reads the length, the rate or the delay of a cable, which the unit tells apart, and returns which it is.
func (l *Link) quantity(number, unit string) (what string, err error) {
	switch {
	case unit == "m":
		what = "length"
		l.Length, err = centimetres(number)
	case machine.IsUnit[machine.Rate](unit):
		what = "rate"
		if l.Rate, err = machine.Quantity[machine.Rate](number, unit); err == nil && l.Rate == 0 {
			err = errors.New("must not be 0")
		}
	case machine.IsUnit[vtime.Time](unit):
		what = "delay"
		if l.Delay, err = machine.Quantity[vtime.Time](number, unit); err == nil && l.Delay == 0 {
			err = errors.New("must not be 0; a cable of 0 m has that delay")
		}
	default:
		return "", notQuantity(number + " " + unit)
	}
	if err != nil {
		err = fmt.Errorf("%s %s %s: %w", what, number, unit, err)
	}
	return what, err
}

func notQuantity(text string) error {
	return fmt.Errorf("%q is no length, rate or delay; each is a number and a unit, such as: 10 m 160 MB/s 50 ns", text)
}

// centimetres reads a length in metres.
func centimetres(text string) (int, error) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return 0, fmt.Errorf("%q is no length in metres", text)
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 12 {
		return 0, fmt.Errorf("%q is no length in metres", text)
	}
	if r.Mul(r, big.NewRat(100, 1)); !r.IsInt() || r.Cmp(big.NewRat(MaxLength, 1)) > 0 {
		return 0, fmt.Errorf("%q is no length of whole centimetres up to %d m", text, MaxLength/100)
	}
	return int(r.Num().Int64()), nil
}

// String returns the topology as Read reads it.
func (t *Topology) String() string {
	var b strings.Builder
	if t.About != "" {
		fmt.Fprintf(&b, "about %s\n", t.About)
	}
	for i := range t.Switches {
		s := &t.Switches[i]
		fmt.Fprintf(&b, "switch %s", s.Name)
		for from := 0; from < len(s.Ports); {
			to := from
			for to < len(s.Ports) && s.Ports[to] == s.Ports[from] {
				to++
			}
			fmt.Fprintf(&b, " %d %v", to-from, s.Ports[from])
			from = to
		}
		b.WriteByte('\n')
	}
	for _, h := range t.Hosts {
		fmt.Fprintf(&b, "host %s\n", h)
	}
	for i := range t.Links {
		l := &t.Links[i]
		fmt.Fprintf(&b, "link %s %s %d.%02d m", t.EndName(l.Ends[0]), t.EndName(l.Ends[1]), l.Length/100, l.Length%100)
		if l.Rate != 0 { // in femtoseconds a byte
			fmt.Fprintf(&b, " %d.%06d ns/B", l.Rate/1e6, l.Rate%1e6)
		}
		if l.Delay != 0 {
			fmt.Fprintf(&b, " %d ps", int64(l.Delay))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
