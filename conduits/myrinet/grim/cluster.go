package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Cluster is the hosts of a topology, with routes between all of them, from each to itself too: endpoints of one host talk through
// the switch.
type Cluster struct {
	*vtime.Simulation
	Fabric *fabric.Fabric
	Hosts  []*Host
}

// NewCluster returns a cluster with an image of the firmware on all NICs. The seed decides what is random. Routes are up*/down*; with
// Image.ITB they are shortest ways through in-transit hosts. SetRoutes changes them.
func NewCluster(p *Profile, image Image, topo *fabric.Topology, seed uint64) (*Cluster, error) {
	o := routing.Options{Spread: routing.Balanced}
	if image.ITB {
		o.Scheme = routing.InTransit
	}
	table, err := routing.NewTable(topo, o)
	if err != nil {
		return nil, err
	}
	if err := table.Unreachable(); err != nil {
		return nil, err
	}
	c := &Cluster{Simulation: vtime.NewSimulation(seed)}
	if c.Fabric, err = fabric.New(&c.Loop, topo, &p.Fabric); err != nil {
		return nil, err
	}
	for from := range topo.Hosts {
		h, err := NewHost(c.Fabric, p, image, from)
		if err != nil {
			return nil, err
		}
		c.Hosts = append(c.Hosts, h)
		h.ShareMemory(c.Hosts[0])
	}
	return c, c.SetRoutes(table)
}

// SetRoutes has all hosts take the routes of a table, of as many hosts. Those that it has no route between cannot reach each other any
// more, as Host.SetRoute says. Routes of several legs need Image.ITB.
func (c *Cluster) SetRoutes(table *routing.Table) error {
	for from, h := range c.Hosts {
		if err := h.SetRoute(from, []byte{fabric.RouteByte(0)}); err != nil {
			return err
		}
		for to := range c.Hosts {
			if to == from {
				continue
			}
			var legs [][]byte
			for _, leg := range table.Route(from, to) {
				legs = append(legs, table.Bytes(leg))
			}
			if len(legs) > 1 && !h.program.image.ITB {
				return fmt.Errorf("grim: the route from host %d to host %d has %d legs, and the firmware no in-transit support (Image.ITB)", from, to, len(legs))
			}
			if err := h.SetRoute(to, legs...); err != nil {
				return err
			}
		}
	}
	return nil
}

// NewStar is NewCluster of so many hosts at one switch.
func NewStar(p *Profile, image Image, hosts int, seed uint64) (*Cluster, error) {
	topo, err := fabric.Shape{Hosts: hosts, Length: starCable}.Line(1)
	if err != nil {
		return nil, fmt.Errorf("grim: a star: %w", err)
	}
	return NewCluster(p, image, topo, seed)
}

// starCable is the length of the cables of a star, in centimetres.
const starCable = 300

// OpenAll opens channels of all hosts, from the first on, so many each, and registers handlers at all of their endpoints, which it
// synchronizes. It returns the endpoints by host and channel. The clock stands when the last has the server's list.
func (c *Cluster) OpenAll(channels int, o EndpointOptions, handlers map[string]Handler) ([][]*Endpoint, error) {
	all := make([][]*Endpoint, len(c.Hosts))
	left := 0
	var failed error
	for i, h := range c.Hosts {
		for channel := range channels {
			e, err := h.Open(channel, o)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], e)
			for name, f := range handlers {
				if err := e.Register(name, f); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, endpoints := range all {
		for _, e := range endpoints {
			left++
			if err := e.Synchronize(func(err error) {
				left--
				if failed == nil {
					failed = err
				}
			}); err != nil {
				return nil, err
			}
		}
	}
	for deadline := c.Now() + vtime.Second; left > 0 && c.Now() < deadline; {
		c.RunUntil(c.Now() + vtime.Millisecond)
	}
	if failed == nil && left > 0 {
		failed = fmt.Errorf("grim: %d endpoints have not heard from the server within a second", left)
	}
	return all, failed
}
