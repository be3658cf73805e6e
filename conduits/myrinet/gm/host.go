package gm

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Host is a host with a NIC on which the control program runs: a node of GM. Its library is called by events of
// the loop, never blocks, and charges the time of its calls to the host's processor.
type Host struct {
	program *Program
	nic     *lanai.NIC
	profile *Profile
	loop    *vtime.Loop
	cpu     vtime.Resource
	ports   []*Port // nil: closed

	openings uint64           // of ports so far
	opened   map[uint64]*Port // those that are open, or of which the NIC has not taken all tokens
	out      []tokens         // by number of port
}

// tokens counts those that are out of a port: of all ports that have had its number, since they share its place in the SRAM.
type tokens struct{ sends, accepts int }

// NewHost puts a NIC with an image of the control program at the port of host id of a fabric, which is its GM node
// number too. It fails if the program with its buffers and tables does not fit into the SRAM. A program that has been there
// stops, as when the host is switched off: nothing of its host happens any more.
func NewHost(f *fabric.Fabric, p *Profile, image Image, id int) (*Host, error) {
	nodes := len(f.Topology().Hosts)
	if id < 0 || id >= nodes {
		return nil, fmt.Errorf("gm: host %d of a fabric of %d", id, nodes)
	}
	nic := lanai.New(f.Loop(), &p.Profile, f.Port(id).Rate())
	program, err := load(nic, f.Port(id), p, image, id, nodes)
	if err != nil {
		return nil, err
	}
	h := &Host{program: program, nic: nic, profile: p, loop: f.Loop(), ports: make([]*Port, p.GM.Ports), opened: map[uint64]*Port{}, out: make([]tokens, p.GM.Ports)}
	program.host = h
	h.loop.CountUsage(h.usage)
	return h, nil
}

// ring writes a token of a port to the NIC and rings for it. The FIFO of doorbells has room for all tokens of all ports.
func (h *Host) ring(p *Port, word uint64) {
	size := sendTokenSize
	if word&provided != 0 {
		size = recvTokenSize
	}
	h.nic.HostWrite(size, nil, 0, 0)
	if err := h.program.bells.Write(p.number*doorbellSize, word); err != nil {
		panic(err) // there is room, and the region has a place for each port
	}
}

// usage returns what the host's processor and bus have been used for.
func (h *Host) usage() (all []vtime.Usage) {
	for _, r := range []struct {
		name string
		of   *vtime.Resource
	}{{"processor", &h.cpu}, {"bus", &h.nic.Bus}} {
		if r.of.Used() {
			all = append(all, r.of.Usage(fmt.Sprintf("%s of node %d", r.name, h.program.id)))
		}
	}
	return all
}

// NIC returns the host's NIC.
func (h *Host) NIC() *lanai.NIC { return h.nic }

// ID returns the node number.
func (h *Host) ID() int { return h.program.id }

// Counts returns what the control program has done so far.
func (h *Host) Counts() Counts { return h.program.Counts() }

// SetRoute says how to reach a node: the route bytes of each leg, the first from here to the first in-transit host
// or to the node. Packets that are in the send queue already leave by the old route. Without legs the node cannot be
// reached any more: messages that are sent then fail at once, and those that are not acknowledged wait for a route, and
// fail after their time-outs, all with ErrNoRoute.
func (h *Host) SetRoute(node int, legs ...[]byte) error {
	g := h.program
	if node < 0 || node >= len(g.routes) {
		return fmt.Errorf("gm: a route to node %d; there are %d", node, len(g.routes))
	}
	if len(legs) == 0 {
		g.routes[node] = nil
		return nil
	}
	if err := transit.Check(legs); err != nil {
		return err
	}
	route := transit.Append([]byte{}, legs)
	if most := int(h.profile.GM.Route); len(route) > most {
		return fmt.Errorf("gm: a route of %d bytes to node %d; the table has room for %d (gm.route)", len(route), node, most)
	}
	g.routes[node] = route
	if c := g.conns[node]; c != nil {
		g.offer(c)
	}
	return nil
}

// SendMapping sends a packet of the mapper, whose route and type it has itself. It takes the way of a message through
// the Send machine. A packet for which the NIC has no buffer is dropped and counted, as the network may drop it, too: a
// mapper asks again.
func (h *Host) SendMapping(packet fabric.Packet) {
	if g := h.program; g.mappings.Len() == mappingBuffers || packet.Len() > g.packetSize {
		g.counts.Unsent++
		return
	}
	h.program.mappings.Push(packet)
	h.nic.CPU.Raise(evSend)
}

// OnMapping has packets of the mapper handed to f, without their route, instead of dropped as foreign ones; nil
// ends that.
func (h *Host) OnMapping(f func(fabric.Packet)) { h.program.mapping = f }

// Close closes the node's ports, gives up messages that the NIC has taken and that are not acknowledged, and tells their
// targets that no more of them comes. It tells so once: a target that does not hear it forgets what has come of a message when the
// node has been silent for longer than the time-outs of a sender last. Ports can be opened again.
func (h *Host) Close() {
	for _, p := range h.ports {
		if p != nil {
			p.Close()
		}
	}
	g := h.program
	for _, c := range g.conns {
		if c != nil {
			if c.in.buffer != nil {
				c.drop()
				c.refused = NACKDown // the port, should it be opened again, knows nothing of the beginning of the message
			}
			c.fail(c.tokens.Len(), ErrClosed)
			c.tell(Header{Kind: NACKClose, Session: c.session, TargetConn: c.known, SenderConn: g.self})
		}
	}
}

// Memory is a part of the host's memory that stays where it is, so that the NIC may access it.
type Memory struct {
	host  *Host
	bytes []byte
	users int  // tokens that refer to it
	gone  bool // it has been given back
}

// Register pins memory, which takes a system call's time. The bytes are the caller's, who must not write to what
// is being sent, nor use what is being received into.
func (h *Host) Register(b []byte) *Memory {
	h.cpu.Use(h.loop.Now(), h.profile.Host.Register)
	return &Memory{host: h, bytes: b}
}

// Bytes returns the memory.
func (m *Memory) Bytes() []byte { return m.bytes }

// Deregister gives the memory back. It fails while a message or a receive buffer is in it.
func (m *Memory) Deregister() error {
	if m.users > 0 {
		return fmt.Errorf("gm: memory that %d messages or receive buffers are in cannot be deregistered", m.users)
	}
	m.gone = true
	return nil
}

// part returns a part of the memory, of a host.
func (m *Memory) part(h *Host, offset, size int) ([]byte, error) {
	switch {
	case m == nil || m.gone || m.host != h:
		return nil, errors.New("gm: memory that is not registered with this host: call Register")
	case offset < 0 || size < 0 || offset > len(m.bytes)-size:
		return nil, fmt.Errorf("gm: bytes %d to %d of registered memory of %d", offset, offset+size, len(m.bytes))
	}
	return m.bytes[offset : offset+size : offset+size], nil
}
