package gm

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Testbed is the installation of Coll's figure 6: three hosts, and two switches M2FM-SW8 with four LAN and four
// SAN ports each. Host 1 and the in-transit host are at LAN ports, host 2 is at a SAN port.
//
// The figure's cables are not stated. Here, switch 2 has two loops, each a cable between two of its own ports, so
// that all that the paper says of the routes holds: see [Testbed.UpDown], [Testbed.Looped] and
// [Testbed.InTransit].
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

// NewTestbed returns the testbed with an image of the control program on all NICs, and with the routes of [Testbed.UpDown].
// The seed is as for [NewPair].
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

// tail is what the two routes of the cost test have in common, from the port at which they enter switch 2 the
// second time: the SAN loop there and back, and to host 2. It passes switch 2 three times.
func tail(in int) []byte {
	return []byte{hop(in, sanLoopOut), hop(sanLoopIn, sanLoopIn), hop(sanLoopOut, host2Port)}
}

// Looped sets the up*/down* route of the cost test from host 1 to host 2: five switches, looping in switch 2.
func (t *Testbed) Looped() error {
	return t.routes(append([]byte{hop(host1Port, uplinkPort), hop(uplinkPort, lanLoopOut)}, tail(lanLoopIn)...))
}

// InTransit sets the route of the cost test with an in-transit buffer: five switches and the same kinds of ports
// as Looped has, with the in-transit host in place of the LAN loop.
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

// HalfRoundTrip is GM's allsize test: n round trips of messages of a size between hosts 1 and 2, after one that is
// not counted. It returns half of the mean.
func (t *Testbed) HalfRoundTrip(size, n int) (vtime.Time, error) {
	return HalfRoundTrip(t.Simulation, t.Hosts[0], t.Hosts[1], size, n)
}
