package component

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Bed is nodes with components of one composition at a switch.
type Bed[S any] struct {
	*vtime.Simulation
	Fabric *fabric.Fabric
	Nodes  []*Component[S]
}

// cable is the length of the cables of a bed in centimetres.
const cable = 300

// NewBed returns n nodes with all routes. The seed decides which packets are harmed.
func NewBed[S any](p *Profile, t Traits, n int, seed uint64) (*Bed[S], error) {
	b := &Bed[S]{Simulation: vtime.NewSimulation(seed)}
	var err error
	if b.Fabric, err = star(&b.Loop, p, n); err != nil {
		return nil, err
	}
	for i := range n {
		c, err := New[S](b.Fabric, p, t, i)
		if err == nil {
			err = c.routeStar()
		}
		if err != nil {
			return nil, err
		}
		b.Nodes = append(b.Nodes, c)
	}
	return b, nil
}

// star returns a fabric of n hosts at a switch, each at the port of its number.
func star(loop *vtime.Loop, p *Profile, n int) (*fabric.Fabric, error) {
	if n < 1 || n > fabric.MaxPorts {
		return nil, fmt.Errorf("component: %d nodes at a switch of up to %d ports", n, fabric.MaxPorts)
	}
	topo := &fabric.Topology{About: "nodes at a switch"}
	s := topo.AddSwitch("switch", make([]fabric.Kind, max(n, fabric.DefaultPorts))...)
	for i := range n {
		topo.Connect(fabric.HostEnd(topo.AddHost(fmt.Sprint("node", i))), fabric.SwitchEnd(s, i), cable)
	}
	return fabric.New(loop, topo, &p.Fabric)
}

// routeStar sets the routes there.
func (c *Baseline) routeStar() error {
	for node := range c.peers {
		if node == c.self {
			continue
		}
		if err := c.SetRoute(node, []byte{fabric.RouteByte(node - c.self)}); err != nil {
			return err
		}
	}
	return nil
}
