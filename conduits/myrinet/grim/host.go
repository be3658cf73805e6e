package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Host is a host with a NIC on which GRIM's firmware runs. All endpoints of a host share the NIC.
type Host struct {
	program *Program
	nic     *lanai.NIC
	profile *Profile
	loop    *vtime.Loop
}

// NewHost puts a NIC with an image of the firmware at the port of host id of a fabric. It fails if the firmware with its queues
// and tables does not fit into the SRAM: they grow with grim.channels, and with the number of the fabric's hosts.
func NewHost(f *fabric.Fabric, p *Profile, image Image, id int) (*Host, error) {
	nodes := len(f.Topology().Hosts)
	if id < 0 || id >= nodes {
		return nil, fmt.Errorf("grim: host %d of a fabric of %d", id, nodes)
	}
	if image.UnlimitedSRAM {
		more := *p
		more.SRAM.Size = unlimited
		p = &more
	}
	nic := lanai.New(f.Loop(), &p.Profile, f.Port(id).Rate())
	program, err := load(nic, f.Port(id), p, image, id, nodes)
	if err != nil {
		return nil, err
	}
	return &Host{program: program, nic: nic, profile: p, loop: f.Loop()}, nil
}

// NIC returns the host's NIC.
func (h *Host) NIC() *lanai.NIC { return h.nic }

// ID returns the number of the host.
func (h *Host) ID() int { return h.program.id }

// Counts returns what the firmware has done so far.
func (h *Host) Counts() Counts { return h.program.counts }

// Observe has f called for what the firmware does with each message, which has a sequence number and a token. f looks, and calls
// nothing of the package.
func (h *Host) Observe(f func(s Step, sequence, token uint8)) { h.program.observe = f }

// SetRoute says how to reach a host: the route bytes of each leg, the first from here to the first in-transit host, or to the host itself.
// In-transit hosts must have Image.ITB. What is sent from now on takes the route, messages that are sent again too. Without legs
// the host cannot be reached any more; that needs Image.TimeOuts, whose tries come to an end then. A message that is still under way by the
// old route must not arrive after 128 others by the new one.
func (h *Host) SetRoute(node int, legs ...[]byte) error {
	p := h.program
	if node < 0 || node >= p.nodes {
		return fmt.Errorf("grim: a route to host %d; there are %d", node, p.nodes)
	}
	if len(legs) == 0 {
		if p.timeOuts == nil {
			return fmt.Errorf("grim: the route to host %d cannot be taken away without time-outs (Image.TimeOuts): messages to it would stay for ever", node)
		}
		p.routes[node] = nil
		return nil
	}
	if err := transit.Check(legs); err != nil {
		return fmt.Errorf("grim: the route to host %d: %w", node, err)
	}
	route := transit.Append([]byte{}, legs)
	if len(route) > int(h.profile.GRIM.Route) {
		return fmt.Errorf("grim: a route of %d bytes to host %d; the table has room for %d (grim.route)", len(route), node, h.profile.GRIM.Route)
	}
	p.routes[node] = route
	return nil
}
