package grim

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/machine"
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
	h, err := newHost(f.Loop(), f.Port(id), f.Port(id).Rate(), p, image, id, nodes)
	if err != nil {
		return nil, err
	}
	h.program.paced = f.Port(id)
	return h, nil
}

// NewHostAt puts a NIC at a port of a network that is not a modelled fabric, as host id of so many. The profile is one that [Profile.Live] has returned, if loop is a live one. A hybrid queue
// needs a modelled fabric, whose ports send a packet in two parts.
func NewHostAt(port transit.Port, loop *vtime.Loop, p *Profile, image Image, id, nodes int) (*Host, error) {
	if image.Queue == Hybrid {
		return nil, errors.New("grim: a hybrid queue sends packets in two parts, which only ports of a modelled fabric do: choose another organisation")
	}
	h, err := newHost(loop, port, p.Fabric.Link.Rate, p, image, id, nodes)
	if err == nil {
		h.program.slab.live = true
	}
	return h, err
}

func newHost(loop *vtime.Loop, port transit.Port, rate machine.Rate, p *Profile, image Image, id, nodes int) (*Host, error) {
	if image.UnlimitedSRAM {
		more := *p
		more.SRAM.Size = unlimited
		p = &more
	}
	nic := lanai.New(loop, &p.Profile, rate)
	program, err := load(nic, port, p, image, id, nodes)
	if err != nil {
		return nil, err
	}
	program.host = &Host{program: program, nic: nic, profile: p, loop: loop}
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

// SetRoute says how to reach a host: the route bytes of each leg, the first from here to the first in-transit host, or to the host itself.
// In-transit hosts must have Image.ITB. What is sent from now on takes the route, messages that are sent again too. Without legs
// the host cannot be reached any more; that needs Image.TimeOuts, whose tries come to an end then. A message that is still under way by the
// old route must not arrive after 128 others by the new one.
func (h *Host) SetRoute(node int, legs ...[]byte) error {
	p := h.program
	if err := p.checkRoute(node, legs); err != nil {
		return err
	}
	switch {
	case len(legs) > 0:
		*p.routes.At(node) = routeEntry{known: true, bytes: transit.Append([]byte{}, legs)}
	case p.timeOuts == nil:
		return fmt.Errorf("grim: the route to host %d cannot be taken away without time-outs (Image.TimeOuts): messages to it would stay for ever", node)
	default:
		*p.routes.At(node) = routeEntry{known: true, err: p.noRoute(node)}
	}
	return nil
}

// noRoute is the error of a host that there is no route to.
func (p *Program) noRoute(node int) error {
	return fmt.Errorf("grim: host %d has no route to host %d", p.id, node)
}

// checkRoute refuses what no entry of the table can be.
func (p *Program) checkRoute(node int, legs [][]byte) error {
	if node < 0 || node >= p.nodes {
		return fmt.Errorf("grim: a route to host %d; there are %d", node, p.nodes)
	}
	if len(legs) == 0 {
		return nil
	}
	if err := transit.Check(legs); err != nil {
		return fmt.Errorf("grim: the route to host %d: %w", node, err)
	}
	if n := len(transit.Append(nil, legs)); n > int(p.profile.GRIM.Route) {
		return fmt.Errorf("grim: a route of %d bytes to host %d; the table has room for %d (grim.route)", n, node, p.profile.GRIM.Route)
	}
	return nil
}

// SetRouter has find asked for the route to a host when that is first needed, unless SetRoute has said it: no legs if there is none, or an error that says why. So a host of a
// large network takes memory for those that it talks to. Its NIC has a table for all of them in any case. Routes have legs as those of SetRoute.
func (h *Host) SetRouter(find func(node int) ([][]byte, error)) { h.program.router = find }

// routeEntry is an entry of the table of routes.
type routeEntry struct {
	bytes []byte
	known bool  // the router need not be asked
	err   error // why there is none
}

// route returns the route to a host, or why there is none.
func (p *Program) route(node int) ([]byte, error) {
	r := p.routes.At(node)
	if !r.known {
		r.known = true
		var legs [][]byte
		if p.router != nil {
			legs, r.err = p.router(node)
		}
		switch {
		case r.err != nil:
		case len(legs) == 0:
			r.err = p.noRoute(node)
		default:
			if r.err = p.checkRoute(node, legs); r.err == nil {
				r.bytes = transit.Append([]byte{}, legs)
			}
		}
	}
	return r.bytes, r.err
}

// Halt stops the host, as if its machine had died: the NIC does nothing more, and its port absorbs what comes.
func (h *Host) Halt() {
	h.nic.CPU.Halt()
	h.program.port.Attach(nil)
}
