package amii

import (
	"fmt"
	"strconv"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Cluster is hosts at a fabric, with up*/down* routes between all of them.
type Cluster struct {
	Fabric *fabric.Fabric
	Hosts  []*Host
	Agent  Agent
}

// Host is a host with its NIC and its driver.
type Host struct {
	program *Program
	nic     *lanai.NIC
	loop    *vtime.Loop
}

// mostNodes is how many nodes there can be: a packet names its node by 16 bits.
const mostNodes = 1 << 16

// NewCluster returns a cluster of the hosts of a topology. It fails if the firmware with its frames and tables does not fit into the SRAM.
func NewCluster(loop *vtime.Loop, p *Profile, topo *fabric.Topology) (*Cluster, error) {
	nodes := len(topo.Hosts)
	if nodes > mostNodes {
		return nil, fmt.Errorf("amii: %d nodes; there can be %d", nodes, mostNodes)
	}
	table, err := routing.NewTable(topo, routing.Options{Spread: routing.Balanced})
	if err != nil {
		return nil, err
	}
	if err := table.Unreachable(); err != nil {
		return nil, err
	}
	c := new(Cluster)
	if c.Fabric, err = fabric.New(loop, topo, &p.Fabric); err != nil {
		return nil, err
	}
	memory := newMemory(p)
	for id := range topo.Hosts {
		nic := lanai.New(loop, &p.Profile, c.Fabric.Port(id).Rate())
		program, err := load(nic, c.Fabric.Port(id), p, memory, id, nodes)
		if err != nil {
			return nil, err
		}
		h := &Host{program: program, nic: nic, loop: loop}
		for to := range topo.Hosts {
			route := []byte{fabric.RouteByte(0)} // to itself by the switch
			if to != id {
				route = table.Bytes(table.Route(id, to)[0]) // up*/down* routes have one leg
			}
			if len(route) > int(p.AM2.Route) {
				return nil, fmt.Errorf("amii: a route of %d bytes from node %d to %d; the table has room for %d (am2.route)", len(route), id, to, p.AM2.Route)
			}
			program.routes[to] = route
		}
		loop.CountUsage(h.usage)
		c.Hosts = append(c.Hosts, h)
	}
	return c, nil
}

// NewStar is NewCluster of so many hosts at one switch, fabric.MaxPorts at most.
func NewStar(loop *vtime.Loop, p *Profile, hosts int) (*Cluster, error) {
	topo, err := fabric.Shape{Hosts: hosts}.Line(1)
	if err != nil {
		return nil, fmt.Errorf("amii: a star: %w", err)
	}
	return NewCluster(loop, p, topo)
}

// NewNetwork is NewCluster of so many hosts, or up to two more: at one switch if that has ports for them, and otherwise three at each
// switch of an irregular network of switches with 8 ports, as those of the Berkeley NOW were.
func NewNetwork(loop *vtime.Loop, p *Profile, hosts int) (*Cluster, error) {
	const each, seed = 3, 1
	if hosts <= fabric.MaxPorts {
		return NewStar(loop, p, hosts)
	}
	topo, err := fabric.Shape{Hosts: each, Ports: fabric.DefaultPorts}.Random((hosts+each-1)/each, seed)
	if err != nil {
		return nil, fmt.Errorf("amii: an irregular network: %w", err)
	}
	return NewCluster(loop, p, topo)
}

// Counts returns what the host's NIC and driver have done so far.
func (h *Host) Counts() Counts { return h.program.counts }

// NIC returns the host's NIC.
func (h *Host) NIC() *lanai.NIC { return h.nic }

// Fail has the NIC stop for ever, as when the host loses its power. What comes for it vanishes. Events call it, and procs that
// have called Sync.
func (h *Host) Fail(f *fabric.Fabric) {
	h.nic.CPU.Halt()
	f.Port(h.program.id).Attach(nil)
}

// usage returns what the host's bus has been used for.
func (h *Host) usage() (all []vtime.Usage) {
	if h.nic.Bus.Used() {
		all = append(all, h.nic.Bus.Usage(fmt.Sprintf("bus of node %d", h.program.id)))
	}
	return all
}

// Agent is the name agent of a cluster: it knows endpoints by names that programs choose. It is on no node, and what it is asked takes no
// time: AM-II has a name server outside, and asks it when endpoints are made.
type Agent struct {
	entries map[string]entry
}

type entry struct {
	name am2.Name
	tag  am2.Tag
}

// Register makes an endpoint known by a name, with the tag that messages to it must have now. It fails if the name is taken.
func (a *Agent) Register(name string, e *Endpoint) error {
	if have, ok := a.entries[name]; ok {
		return fmt.Errorf("amii: the name agent knows %q: it is %v", name, have.name)
	}
	if a.entries == nil {
		a.entries = map[string]entry{}
	}
	a.entries[name] = entry{e.Name(), e.Tag()}
	return nil
}

// Lookup returns the endpoint of a name, and the tag of messages to it; it reports false if there is none.
func (a *Agent) Lookup(name string) (am2.Name, am2.Tag, bool) {
	x, ok := a.entries[name]
	return x.name, x.tag, ok
}

// Import enters the endpoint of a name at an index of the translation table of e.
func (a *Agent) Import(e *Endpoint, index int, name string) error {
	remote, tag, ok := a.Lookup(name)
	if !ok {
		return fmt.Errorf("amii: the name agent knows no endpoint %q", name)
	}
	return e.Map(index, remote, tag)
}

// Program makes a virtual network of a program: an endpoint on each host, which knows the others by the number of their host, and
// which messages with the tag reach. Options says what else they have; it may be nil. The agent knows the endpoints as "program/number".
func (c *Cluster) Program(program string, tag am2.Tag, image amfamily.Image, options func(node int, o *Options)) ([]*Endpoint, error) {
	var all []*Endpoint
	name := func(i int) string { return program + "/" + strconv.Itoa(i) }
	for i, h := range c.Hosts {
		o := Options{Tag: tag, Index: i, Table: len(c.Hosts), Image: image}
		if options != nil {
			options(i, &o)
		}
		e, err := h.Open(o)
		if err != nil {
			return nil, err
		}
		if err := c.Agent.Register(name(i), e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	for i, e := range all {
		for j := range all {
			if i == j {
				continue
			}
			if err := c.Agent.Import(e, j, name(j)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Build returns what makes a program on hosts at one switch, for measurements.
func Build(p *Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		c, err := NewStar(&k.Loop, p, nodes)
		if err != nil {
			return nil, err
		}
		all, err := c.Program("program", 1, image, nil)
		return amfamily.Nodes(all), err
	}
}
