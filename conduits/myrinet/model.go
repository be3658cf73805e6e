package myrinet

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// models are the machines that come with the project, the default first.
var models = []string{"grim-lanai9", "grim-lanai4"}

// site is what the ranks of a job share: the network, and the hosts that have ranks.
type site struct {
	params
	kernel  *vtime.Kernel
	profile *grim.Profile
	image   grim.Image
	fabric  *fabric.Fabric
	ways    *routing.Ways
	hosts   []*host // nil: no rank has been there
	first   *grim.Host
	arenas  shm.Arenas
	size    int
	err     error
}

// host is a host with its ranks.
type host struct {
	*grim.Host
	ranks []*conduit
	lost  bool
}

// newSite builds the network. Its hosts are made as ranks come.
func (c *conduit) newSite(a *core.Attachment) *site {
	s := &site{params: c.params, kernel: a.Proc.Kernel(), size: a.Boot.Size()}
	s.err = s.build(c.machine, a.Port.Log())
	return s
}

func (s *site) build(machine string, log *slog.Logger) (err error) {
	if s.profile, err = s.load(machine); err != nil {
		return err
	}
	topology, err := s.shape((s.size + s.perHost - 1) / s.perHost)
	if err != nil {
		return err
	}
	s.hosts = make([]*host, len(topology.Hosts))
	if s.fabric, err = fabric.New(&s.kernel.Loop, topology, &s.profile.Fabric); err != nil {
		return err
	}
	s.ways, err = routing.NewWays(topology, routing.Options{Spread: routing.Random, Root: routing.Center(topology)})
	if s.image = (grim.Image{PerNI: s.perNI, UnlimitedSRAM: s.unlimited}); s.unlimited {
		log.Warn("myrinet: unlimited-sram: results are of no NIC that there was", "machine", machine, "sram", s.profile.SRAM.Size)
	}
	return err
}

// load reads the machine, and changes what settings say.
func (s *site) load(machine string) (*grim.Profile, error) {
	p, err := grim.Load(machine)
	if err != nil {
		return nil, err
	}
	if s.channels == 0 {
		s.channels = s.perHost
	}
	if s.channels < s.perHost {
		return nil, fmt.Errorf("myrinet: %d ranks on a host (per-host) need as many channels; %d are asked for (channels)", s.perHost, s.channels)
	}
	if s.queue == 0 {
		s.queue = int(p.GRIM.Queue) * p.GRIM.Channels / s.channels
	}
	file := p.File
	for _, x := range []struct {
		name, unit string
		value      int
	}{
		{"grim.channels", "count", s.channels}, {"grim.queue", "B", s.queue}, {"grim.receive", "B", s.receive},
		{"grim.buffers", "count", s.buffers}, {"grim.controls", "count", s.controls},
	} {
		if x.value == 0 {
			continue
		}
		if file, err = file.With(x.name, fmt.Sprint(x.value), x.unit); err != nil {
			return nil, err
		}
	}
	return grim.NewProfile(file)
}

// shape returns a topology with so many hosts at least.
func (s *site) shape(hosts int) (*fabric.Topology, error) {
	name := s.topology
	if name == auto {
		name = "line:1"
		if levels, arity := tree(hosts); levels > 1 {
			name = fmt.Sprintf("fat-tree:%dx%d", levels, arity)
		}
	}
	seed := s.kernel.Rand("myrinet: topology").Uint64()
	// A shape has as many hosts on each switch as there must be, which takes a look at how many switches it has.
	t, err := fabric.Shape{Ports: fabric.MaxPorts}.Make(name, seed)
	if err != nil {
		return nil, fmt.Errorf("myrinet: %w", err)
	}
	if len(t.Hosts) == 0 && len(t.Switches) > 0 {
		each := (hosts + len(t.Switches) - 1) / len(t.Switches)
		if t, err = (fabric.Shape{Hosts: each, Ports: max(fabric.DefaultPorts, 2*each)}).Make(name, seed); err != nil {
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

// place returns which host a rank is on, and which of its channels the rank has.
func (s *site) place(r core.Rank) (node, channel int) { return int(r) / s.perHost, int(r) % s.perHost }

// endpoint returns the number of a rank's endpoint.
func (s *site) endpoint(r core.Rank) grim.EndpointID {
	node, channel := s.place(r)
	return grim.EndpointID(node*s.channels + channel)
}

// rankOf returns the rank of an endpoint; it reports false if there is none.
func (s *site) rankOf(e grim.EndpointID) (core.Rank, bool) {
	node, channel := int(e)/s.channels, int(e)%s.channels
	r := node*s.perHost + channel
	return core.Rank(r), channel < s.perHost && r < s.size
}

// open opens a rank's endpoint.
func (s *site) open(c *conduit) (*grim.Endpoint, error) {
	node, channel := s.place(c.rank)
	h := s.hosts[node]
	if h == nil {
		g, err := grim.NewHost(s.fabric, s.profile, s.image, node)
		if err != nil {
			return nil, fmt.Errorf("%w; see settings channels, queue and unlimited-sram", err)
		}
		if s.first == nil {
			s.first = g
		}
		g.ShareMemory(s.first)
		h = &host{Host: g}
		s.hosts[node] = h
		g.SetRouter(func(to int) [][]byte {
			if to == node {
				return [][]byte{{fabric.RouteByte(0)}} // the switch sends it back
			}
			if route := s.ways.Route(node, to); route != nil {
				return [][]byte{s.ways.Bytes(route[0])} // up*/down* routes have one leg
			}
			return nil
		})
	}
	h.ranks = append(h.ranks, c)
	c.host = h
	return h.Open(channel, grim.EndpointOptions{Proc: c.proc})
}

// Idle implements core.Idler.
func (c *conduit) Idle() (cost vtime.Time, idle bool) {
	cost, idle = c.endpoint.EmptyPoll()
	return cost, idle && c.ended.Len() == 0
}

// Lost implements core.LossDetector: the host stops, with all its ranks. The drivers of the others notice after a time.
func (c *conduit) Lost() {
	h := c.host
	if h.lost {
		return
	}
	h.lost = true
	h.Halt()
	for _, other := range h.ranks {
		other.proc.Lose()
	}
	c.site.kernel.At(c.site.kernel.Now()+c.site.profile.Host.Detect, (*loss)(c), uint64(c.rank), 0)
}

// loss is the event in which the loss of a rank's host is noticed.
type loss conduit

// Label implements vtime.Labelled.
func (l *loss) Label(_, _ uint64) string { return "the loss of a host is noticed" }

// Fire implements vtime.Target.
func (l *loss) Fire(_, _ uint64) {
	node, _ := l.site.place(l.rank)
	l.port.Fail(&core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("myrinet: the host of rank %d, %s, is lost", l.rank, l.site.fabric.Topology().Hosts[node])})
}
