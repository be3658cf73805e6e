package gm

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Testbed is the installation of Coll's figure 6: three hosts, and two switches M2FM-SW8 with four LAN and four SAN ports
// each. Host 1 and the in-transit host are at LAN ports, host 2 is at a SAN port.
//
// The figure's cables are not stated. Here, switch 2 has two loops, each a cable between two of its own ports, so that all
// that the paper says of the routes holds: see [Testbed.UpDown], [Testbed.Looped] and [Testbed.InTransit].
type Testbed struct {
	*vtime.Simulation
	Fabric *fabric.Fabric
	Hosts  [3]*Host // host 1, host 2, and the in-transit host
}

// Ports 0 to 3 of a switch of the testbed are LAN ports, 4 to 7 SAN ports.
const (
	host1Port   = 0 // of switch 1
	uplinkPort  = 4 // of both switches
	transitPort = 0 // of switch 2, and so the rest
	lanLoopOut  = 1
	lanLoopIn   = 2
	host2Port   = 5
	sanLoopOut  = 6
	sanLoopIn   = 7
)

// Lengths of cables, in centimetres.
const (
	lanCable = 1000
	sanCable = 300
)

// NewTestbed returns the testbed with an image of the control program on all NICs.
func NewTestbed(p *Profile, image Image, seed uint64) (*Testbed, error) {
	topo := &fabric.Topology{About: "the testbed of the in-transit-buffer paper, figure 6"}
	kinds := []fabric.Kind{fabric.LAN, fabric.LAN, fabric.LAN, fabric.LAN, fabric.SAN, fabric.SAN, fabric.SAN, fabric.SAN}
	s1, s2 := topo.AddSwitch("switch1", kinds...), topo.AddSwitch("switch2", kinds...)
	h1, h2, transit := topo.AddHost("host1"), topo.AddHost("host2"), topo.AddHost("in-transit")
	topo.Connect(fabric.HostEnd(h1), fabric.SwitchEnd(s1, host1Port), lanCable)
	topo.Connect(fabric.HostEnd(h2), fabric.SwitchEnd(s2, host2Port), sanCable)
	topo.Connect(fabric.HostEnd(transit), fabric.SwitchEnd(s2, transitPort), lanCable)
	topo.Connect(fabric.SwitchEnd(s1, uplinkPort), fabric.SwitchEnd(s2, uplinkPort), sanCable)
	topo.Connect(fabric.SwitchEnd(s2, lanLoopOut), fabric.SwitchEnd(s2, lanLoopIn), lanCable)
	topo.Connect(fabric.SwitchEnd(s2, sanLoopOut), fabric.SwitchEnd(s2, sanLoopIn), sanCable)
	t := &Testbed{Simulation: vtime.NewSimulation(seed)}
	f, err := fabric.New(&t.Loop, topo, &p.Fabric)
	if err != nil {
		return nil, err
	}
	t.Fabric = f
	for i := range t.Hosts {
		if t.Hosts[i], err = NewHost(f, p, image, i); err != nil {
			return nil, err
		}
	}
	return t, t.UpDown()
}

// hop returns the route byte from one port of a switch to another.
func hop(in, out int) byte { return fabric.RouteByte(out - in) }

// back is the route from host 2 to host 1: switch 2, its LAN loop, switch 2, switch 1.
func back() []byte {
	return []byte{hop(host2Port, lanLoopOut), hop(lanLoopIn, uplinkPort), hop(uplinkPort, host1Port)}
}

// UpDown sets the routes of the overhead test: two switches from host 1 to host 2, three back, 2.5 on average.
func (t *Testbed) UpDown() error {
	return t.routes([]byte{hop(host1Port, uplinkPort), hop(uplinkPort, host2Port)})
}

// tail is what the two routes of the cost test have in common, from the port at which they enter switch 2 the second time: the SAN loop
// there and back, and to host 2. It passes switch 2 three times.
func tail(in int) []byte {
	return []byte{hop(in, sanLoopOut), hop(sanLoopIn, sanLoopIn), hop(sanLoopOut, host2Port)}
}

// Looped sets the up*/down* route of the cost test from host 1 to host 2: five switches, looping in switch 2.
func (t *Testbed) Looped() error {
	return t.routes(append([]byte{hop(host1Port, uplinkPort), hop(uplinkPort, lanLoopOut)}, tail(lanLoopIn)...))
}

// InTransit sets the route of the cost test with an in-transit buffer: five switches and the same kinds of ports as Looped
// has, with the in-transit host in place of the LAN loop.
func (t *Testbed) InTransit() error {
	return t.routes([]byte{hop(host1Port, uplinkPort), hop(uplinkPort, transitPort)}, tail(transitPort))
}

// routes sets a route from host 1 to host 2, and that back.
func (t *Testbed) routes(there ...[]byte) error {
	if err := t.Hosts[0].SetRoute(1, there...); err != nil {
		return err
	}
	return t.Hosts[1].SetRoute(0, back())
}

// HalfRoundTrip is GM's allsize test: n round trips of messages of a size between hosts 1 and 2, after one that is not counted. It returns half of the
// mean.
func (t *Testbed) HalfRoundTrip(size, n int) (vtime.Time, error) {
	return HalfRoundTrip(t.Simulation, t.Hosts[0], t.Hosts[1], size, n)
}

// allsizePort is the port that allsize uses: the first that is nobody else's.
const allsizePort = 2

// HalfRoundTrip is GM's allsize test between two hosts of a simulation: see [Testbed.HalfRoundTrip].
func HalfRoundTrip(s *vtime.Simulation, a, b *Host, size, n int) (vtime.Time, error) {
	if size < 0 || n < 1 {
		return 0, fmt.Errorf("gm: %d round trips of %d B", n, size)
	}
	r := &roundTrips{s: s, size: size, left: 2*n + 2}
	for i, h := range [2]*Host{a, b} {
		e := &r.ends[i]
		e.memory = h.Register(make([]byte, size+1<<Class(size)))
		var err error
		if e.port, err = h.Open(allsizePort, func(*Message) { r.received(i) }); err != nil {
			return 0, err
		}
		e.peer = [2]*Host{b, a}[i].ID()
		r.provide(i)
	}
	s.RunUntil(s.Now() + vtime.Millisecond) // the buffers are there
	r.send(0)
	s.RunUntil(s.Now() + vtime.Second)
	for i := range r.ends {
		r.ends[i].port.Close()
	}
	if r.err == nil && r.left > 0 {
		r.err = fmt.Errorf("gm: %d of %d messages of %d B have not come within a second", r.left, 2*n+2, size)
	}
	return (r.end - r.begin) / vtime.Time(2*n), r.err
}

// roundTrips is a run of allsize.
type roundTrips struct {
	s    *vtime.Simulation
	size int
	left int // messages that have not come
	ends [2]struct {
		port   *Port
		memory *Memory
		peer   int
	}
	begin, end vtime.Time
	err        error
}

func (r *roundTrips) note(err error) {
	if err != nil && r.err == nil {
		r.err = err
	}
}

func (r *roundTrips) provide(i int) {
	e := &r.ends[i]
	r.note(e.port.Provide(e.memory, r.size, Class(r.size), Low))
}

func (r *roundTrips) send(i int) {
	e := &r.ends[i]
	r.note(e.port.Send(e.memory, 0, r.size, Low, e.peer, allsizePort, r.note))
}

// received answers a message: a new buffer first, as allsize does.
func (r *roundTrips) received(i int) {
	total := r.left
	r.left--
	r.end = r.s.Now()
	r.provide(i)
	if i == 0 && r.begin == 0 {
		r.begin = r.end // the first round trip is over
	}
	if total > 1 {
		r.send(i)
	}
}
