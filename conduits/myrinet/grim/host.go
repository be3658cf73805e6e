package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Host is a host with a NIC on which GRIM's firmware runs. All endpoints of a host share the NIC.
type Host struct {
	program *Program
	nic     *lanai.NIC
	profile *Profile
	loop    *vtime.Loop
	memory  memory
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
	program.host = &Host{program: program, nic: nic, profile: p, loop: f.Loop()}
	return program.host, nil
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

// SetRoute says how to reach a host: the route bytes from here to there. Routes are set before messages are sent.
func (h *Host) SetRoute(node int, route []byte) error {
	p := h.program
	switch {
	case node < 0 || node >= p.nodes:
		return fmt.Errorf("grim: a route to host %d; there are %d", node, p.nodes)
	case len(route) > int(h.profile.GRIM.Route):
		return fmt.Errorf("grim: a route of %d bytes to host %d; the table has room for %d (grim.route)", len(route), node, h.profile.GRIM.Route)
	}
	for _, b := range route {
		if !fabric.IsRoute(b) {
			return fmt.Errorf("grim: route byte %#02x to host %d has not its top bit set", b, node)
		}
	}
	p.routes[node] = append([]byte{}, route...)
	return nil
}
