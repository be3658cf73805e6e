package topology

import (
	"fmt"
	"io"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Plan says what is to be drawn.
type Plan struct {
	Topology string // as fabric.Shape.Make takes it
	Hosts    int    // of each switch of a shape
	Seed     uint64
	Scheme   string // of routes; one of Schemes
	Root     string // switch; "": the one in the middle
	Route    string // "from,to"; "": none
	Size     int    // payload of packets of a saturated network; 0: no traffic
	Machine  string // constants of the fabric
	Text     bool   // the topology as text, no picture
}

// Shapes are what Plan.Topology can be besides a file.
var Shapes = fabric.Shapes

// Schemes are the names of schemes of routes.
func Schemes() []string {
	return []string{routing.UpDown.String(), routing.InTransit.String(), routing.Shortest.String()}
}

// warmUp and window are for how long traffic runs before it is looked at, and for how long it is.
const (
	warmUp = 200 * vtime.Microsecond
	window = 800 * vtime.Microsecond
)

// maxHosts bounds the memory of routes, whose number is the square of that of hosts.
const maxHosts = 1024

// Make returns a function that writes what the plan is for. All that can be wrong with the plan is an error here.
func (p *Plan) Make() (func(io.Writer) error, error) {
	if p.Hosts < 0 || p.Hosts > fabric.MaxPorts {
		return nil, fmt.Errorf("%d hosts of each switch; there can be 0 to %d", p.Hosts, fabric.MaxPorts)
	}
	if p.Size < 0 || p.Size > 1<<20 {
		return nil, fmt.Errorf("packets of %d bytes; they can have up to %d", p.Size, 1<<20)
	}
	t, err := fabric.Shape{Hosts: p.Hosts}.Make(p.Topology, p.Seed)
	if err != nil {
		return nil, err
	}
	constants, err := fabric.Load(p.Machine)
	if err != nil {
		return nil, err
	}
	options := routing.Options{Spread: routing.Balanced, Seed: p.Seed}
	if options.Scheme, err = p.scheme(); err != nil {
		return nil, err
	}
	if p.Root != "" {
		var ok bool
		if options.Root, ok = t.Switch(p.Root); !ok {
			return nil, fmt.Errorf("no switch is called %q", p.Root)
		}
	}
	picture := &Picture{}
	if p.Route != "" {
		if err := picture.ends(t, p.Route); err != nil {
			return nil, err
		}
	}
	if p.Text {
		return func(w io.Writer) error { _, err := io.WriteString(w, t.String()); return err }, nil
	}
	if len(t.Switches) == 0 {
		return nil, fmt.Errorf("%s has no switch to draw", p.Topology)
	}
	if len(t.Hosts) > maxHosts {
		return nil, fmt.Errorf("%d hosts cannot be drawn; %d is the most, as there is a route between any two", len(t.Hosts), maxHosts)
	}
	if p.Root == "" {
		options.Root = routing.Center(t)
	}
	if picture.Table, err = routing.NewTable(t, options); err != nil {
		return nil, err
	}
	if p.Route != "" {
		if err := picture.route(t); err != nil {
			return nil, err
		}
	}
	if p.Size != 0 {
		if err := p.traffic(picture, constants); err != nil {
			return nil, err
		}
	}
	return picture.WriteSVG, nil
}

func (p *Plan) scheme() (routing.Scheme, error) {
	for i, name := range Schemes() {
		if name == p.Scheme {
			return routing.Scheme(i), nil
		}
	}
	return 0, fmt.Errorf("no routes are called %q; there are %s", p.Scheme, strings.Join(Schemes(), ", "))
}

// ends finds the two hosts of the route.
func (d *Picture) ends(t *fabric.Topology, hosts string) error {
	from, to, _ := strings.Cut(hosts, ",")
	var ok bool
	if d.From, ok = t.Host(from); !ok {
		return fmt.Errorf("no host is called %q; a route is given as two hosts: h0,h7", from)
	}
	if d.To, ok = t.Host(to); !ok {
		return fmt.Errorf("no host is called %q; a route is given as two hosts: h0,h7", to)
	}
	return nil
}

// route finds the route.
func (d *Picture) route(t *fabric.Topology) error {
	from, to := t.Hosts[d.From], t.Hosts[d.To]
	if d.Route = d.Table.Route(d.From, d.To); d.Route == nil {
		return fmt.Errorf("no route leads from %s to %s", from, to)
	}
	transit := d.Table.Transit(d.Route)
	d.Note = fmt.Sprintf("From %s to %s through %s", from, to, plural.Count(d.Route.Switches(), "switch", "switches"))
	for _, h := range transit {
		d.Note += ", by " + t.Hosts[h]
	}
	d.Note += ". "
	return nil
}

// traffic saturates the network and notes how busy its channels are.
func (p *Plan) traffic(d *Picture, constants *fabric.Constants) error {
	s := vtime.NewSimulation(p.Seed)
	f, err := fabric.New(&s.Loop, d.Table.Topology(), constants)
	if err != nil {
		return err
	}
	hosts := routing.NewHosts(f, d.Table, p.Size)
	hosts.Saturate()
	s.RunUntil(warmUp)
	before, arrived := f.Traffic(), hosts.Arrived()
	s.RunUntil(warmUp + window)
	for i, t := range f.Traffic() {
		d.Load = append(d.Load, min(1, float64(t.Busy-before[i].Busy)/float64(window)))
	}
	stuck := len(f.Waits()) > 0
	for i, t := range f.Traffic() {
		stuck = stuck && t.Packets == before[i].Packets && d.Load[i] == 0
	}
	if stuck {
		d.Note += fmt.Sprintf("All hosts send packets of %d bytes to random others: a deadlock. Packets wait for each other in a circle, and nothing arrives any more.", p.Size)
		return nil
	}
	d.Note += fmt.Sprintf("All hosts send packets of %d bytes to random others: %.2f GB/s arrive.", p.Size,
		float64(hosts.Arrived()-arrived)*float64(p.Size)/float64(window)*1e3)
	return nil
}
