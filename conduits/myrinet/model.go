package myrinet

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// models are the machines that come with the project, the default first.
var models = []string{"grim-lanai9", "grim-lanai4"}

// site is what the ranks of a job share: the network, and the hosts that have ranks or take packets in transit.
type site struct {
	params
	kernel  *vtime.Kernel
	port    *core.Port // by which the network's failure ends the job
	profile *grim.Profile
	image   grim.Image
	shape   *fabric.Topology
	fabric  *fabric.Fabric // nil live
	ways    *routing.Ways
	legal   *routing.Ways                // up*/down*, for detours; nil: ways are so
	hosts   []*host                      // nil: it has been of no use
	passes  func(node int) (bool, error) // whether packets of others can pass a host
	first   *grim.Host
	arenas  shm.Arenas
	size    int
	err     error
}

// host is a host with its ranks.
type host struct {
	*grim.Host
	ranks    []*conduit // none: it takes packets in transit alone
	devices  []*device  // none before its first rank has come
	lost     bool
	detoured map[int]bool // hosts that did not answer by their in-transit ways
}

// newSite builds the network. Its hosts are made as ranks come, and as routes lead through them.
func (c *conduit) newSite(a *core.Attachment) *site {
	s := &site{params: c.params, kernel: a.Proc.Kernel(), port: a.Port, size: a.Boot.Size()}
	if s.err = s.build(c.machine, a.Port.Log()); s.err == nil {
		s.kernel.CountUsage(s.usage)
	}
	return s
}

func (s *site) build(machine string, log *slog.Logger) (err error) {
	if s.profile, err = s.load(machine); err != nil {
		return err
	}
	seed := uint64(1)
	if s.kernel != nil {
		seed = s.kernel.Rand("myrinet: topology").Uint64()
	}
	topology, err := s.draw((s.size+s.perHost-1)/s.perHost, seed)
	if err != nil {
		return err
	}
	s.shape = topology
	if s.kernel != nil {
		s.hosts = make([]*host, len(topology.Hosts))
		if s.fabric, err = fabric.New(&s.kernel.Loop, topology, &s.profile.Fabric); err != nil {
			return err
		}
		s.passes = func(node int) (bool, error) {
			_, err := s.host(node)
			return err == nil, err
		}
	}
	if err = s.findWays(topology); err != nil {
		return err
	}
	if s.image = (grim.Image{PerNI: s.perNI, UnlimitedSRAM: s.unlimited}); s.unlimited {
		log.Warn("myrinet: unlimited-sram: results are of no NIC that there was", "machine", machine, "sram", s.profile.SRAM.Size)
	}
	if s.routes == routing.InTransit {
		s.image.ITB, s.image.Pool = true, s.pool
	}
	if s.image.TimeOuts, err = s.resends(); err != nil {
		return err
	}
	return s.pull()
}

// resends tells whether NICs have time-outs. It fails where packets get lost and they shall have none.
func (s *site) resends() (bool, error) {
	e, lossy := &s.profile.Fabric.Error, ""
	switch {
	case e.Lose+e.Corrupt+e.Truncate > 0:
		lossy = "packets are lost on cables (setting errors, or fabric.error of the machine)"
	case s.unplug != "":
		lossy = "a cable is pulled (setting unplug)"
	}
	if lossy != "" && s.timeOuts == never {
		return false, fmt.Errorf("myrinet: %s, and without time-outs the job would wait for what is lost for ever: leave out time-outs=off", lossy)
	}
	return s.timeOuts == always || s.timeOuts == whereNeeded && (lossy != "" || s.routes == routing.InTransit), nil
}

// mtu returns the bytes of the longest packet, its route included and its CRC byte not.
func (s *site) mtu() int { return int(s.profile.GRIM.Route) + grim.HeaderSize + grim.MaxPayload }

// load reads the machine, and changes what settings say.
func (s *site) load(machine string) (*grim.Profile, error) {
	p, err := grim.Load(machine)
	if err != nil {
		return nil, err
	}
	need := fmt.Sprintf("myrinet: %d ranks (per-host, one-sided) and %d devices (devices) on a host need %d channels", s.perHost, s.devices, s.needed())
	if s.needed() > grim.MaxChannels {
		return nil, fmt.Errorf("%s; a NIC has %d at most", need, grim.MaxChannels)
	}
	if s.channels == 0 {
		s.channels = s.needed()
	}
	if s.channels < s.needed() {
		return nil, fmt.Errorf("%s; %d are asked for (channels)", need, s.channels)
	}
	if s.queue == 0 {
		one := int(p.GRIM.Queue)
		all := one * p.GRIM.Channels
		if s.routes == routing.InTransit {
			all = max(one, all-s.pool*(grim.HeaderSize+grim.MaxPayload+int(p.GRIM.Route)))
		}
		s.queue = all / s.channels
	}
	file := p.File
	type constant struct {
		name, unit string
		value      int
	}
	constants := []constant{
		{"grim.channels", "count", s.channels}, {"grim.queue", "B", s.queue}, {"grim.receive", "B", s.receive},
		{"grim.buffers", "count", s.buffers}, {"grim.controls", "count", s.controls},
	}
	constants = slices.DeleteFunc(constants, func(x constant) bool { return x.value == 0 })
	if s.errors != machineErrors {
		for _, name := range []string{"lose", "corrupt", "truncate"} {
			constants = append(constants, constant{"fabric.error." + name, "ppm", s.errors})
		}
	}
	for _, x := range constants {
		if file, err = file.With(x.name, fmt.Sprint(x.value), x.unit); err != nil {
			return nil, err
		}
	}
	return grim.NewProfile(file)
}

// draw returns a topology with so many hosts at least.
func (s *site) draw(hosts int, seed uint64) (*fabric.Topology, error) {
	name := s.topology
	if name == auto {
		name = "line:1"
		if levels, arity := tree(hosts); levels > 1 {
			name = fmt.Sprintf("fat-tree:%dx%d", levels, arity)
		}
	}
	// A shape has as many hosts on each switch as there must be, which takes a look at how many switches it has.
	t, err := fabric.Shape{Ports: fabric.MaxPorts}.Make(name, seed)
	if err != nil {
		return nil, fmt.Errorf("myrinet: %w", err)
	}
	if len(t.Hosts) == 0 && len(t.Switches) > 0 {
		each := (hosts + len(t.Switches) - 1) / len(t.Switches)
		if t, err = (fabric.Shape{Hosts: each, Ports: min(fabric.MaxPorts, max(fabric.DefaultPorts, 2*each))}).Make(name, seed); err != nil {
			return nil, fmt.Errorf("myrinet: %w", err)
		}
	}
	if len(t.Hosts) < hosts {
		return nil, fmt.Errorf("myrinet: topology %s has %d hosts; %d ranks, %d on a host, need %d", s.topology, len(t.Hosts), s.size, s.perHost, hosts)
	}
	return t, nil
}

// tree returns the levels and the arity of the smallest fat tree that so many hosts fit into. A tree of one level is a switch.
func tree(hosts int) (levels, arity int) {
	if hosts <= fabric.MaxPorts {
		return 1, hosts
	}
	const most = fabric.MaxPorts / 2 // of a switch, up and down
	for levels = 2; ; levels++ {
		for arity = 2; arity <= most; arity++ {
			if math.Pow(float64(arity), float64(levels)) >= float64(hosts) {
				return levels, arity
			}
		}
	}
}

// perHost is the driver's PerHost. Live, all ranks share a host, whatever NICs they have.
func perHost(modelled bool, settings map[string]string) int {
	n, err := strconv.Atoi(settings["per-host"])
	switch {
	case !modelled:
		return 0
	case err != nil:
		return defaults.perHost
	}
	return n
}

// needed returns how many channels the ranks and the devices of a host have.
func (p *params) needed() int { return p.rankChannels() + p.devices }

// rankChannels returns how many channels the ranks of a host have.
func (p *params) rankChannels() int {
	if p.joint {
		return p.perHost
	}
	return 2 * p.perHost
}

// place returns which host a rank is on, and which of its channels the rank's messages have.
func (s *site) place(r core.Rank) (node, channel int) { return int(r) / s.perHost, int(r) % s.perHost }

// oneSided returns the channel of puts and gets of the rank whose messages have a channel.
func (s *site) oneSided(channel int) int {
	if s.joint {
		return channel
	}
	return s.perHost + channel
}

// endpoint returns the number of a rank's endpoint for messages. Remote memory is reached by it too: no endpoint takes part in that.
func (s *site) endpoint(r core.Rank) grim.EndpointID {
	node, channel := s.place(r)
	return grim.EndpointID(node*s.channels + channel)
}

// rankOf returns the rank of an endpoint for messages; it reports false if there is none.
func (s *site) rankOf(e grim.EndpointID) (core.Rank, bool) {
	node, channel := int(e)/s.channels, int(e)%s.channels
	r := node*s.perHost + channel
	return core.Rank(r), channel < s.perHost && r < s.size
}

// open opens the endpoints of a rank of a group, and on the first of a host that comes those of devices.
func (s *site) open(c *conduit, group []core.Rank) error {
	node, channel := s.place(c.rank)
	h, err := s.host(node)
	if err != nil {
		return err
	}
	if len(h.ranks) == 0 {
		if h.devices, err = s.openDevices(h.Host, s.nextHost(group, node), s.port.Fail); err != nil {
			return err
		}
	}
	h.ranks = append(h.ranks, c)
	c.host = h
	o := grim.EndpointOptions{Proc: c.proc}
	if c.endpoint, err = h.Open(channel, o); err != nil {
		return err
	}
	c.oneSided = c.endpoint
	if !s.joint {
		c.oneSided, err = h.Open(s.oneSided(channel), o)
	}
	return err
}

// host returns a host, which it makes if need be.
func (s *site) host(node int) (*host, error) {
	if h := s.hosts[node]; h != nil {
		return h, nil
	}
	g, err := grim.NewHost(s.fabric, s.profile, s.image, node)
	if err != nil {
		return nil, fmt.Errorf("%w; see settings channels, one-sided, queue, pool and unlimited-sram", err)
	}
	if s.first == nil {
		s.first = g
	}
	g.ShareMemory(s.first)
	h := &host{Host: g, detoured: make(map[int]bool)}
	s.hosts[node] = h
	g.SetRouter(func(to int) ([][]byte, error) { return s.route(node, to) })
	g.OnUnreachable(func(to int) bool { return s.detour(h, to) })
	return h, nil
}

// Idle implements core.Idler.
func (c *conduit) Idle() (cost vtime.Time, idle bool) {
	cost, idle = c.emptyPoll()
	return cost, idle && c.ended.Len() == 0
}

// emptyPoll returns what a poll takes that finds nothing, and whether the endpoints have nothing to find now.
func (c *conduit) emptyPoll() (cost vtime.Time, idle bool) {
	cost, idle = c.endpoint.EmptyPoll()
	if !c.joint {
		more, none := c.oneSided.EmptyPoll()
		cost, idle = cost+more-c.site.profile.Host.Poll, idle && none
	}
	return cost, idle
}
