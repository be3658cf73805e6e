package component

import (
	"encoding/binary"
	"fmt"
)

// activated is which protocols act on frames to a node.
type activated struct {
	active  Protocol
	wish    Protocol // that are to, when no frame is left that is not acknowledged
	changes bool     // there is a wish
}

// switchable are the protocols that can be switched while the component runs. Credits cannot: it says whose the staging buffer is.
// Multicast and MTU act on those frames that need them.
const switchable = Reliability | Rendezvous

// Activate says which of Reliability and Rendezvous act on frames to a node from now on; both do at first, as far as they
// are in the composition. Flags of each frame tell the receiver. Frames that wait for an acknowledgement are waited for before.
func (c *Component[S]) Activate(node int, protocols Protocol) error {
	if err := c.needs(Active, "Activate"); err != nil {
		return err
	}
	switch {
	case node < 0 || node >= len(c.peers) || node == c.self:
		return fmt.Errorf("component: Activate for node %d of %d, by node %d", node, len(c.peers), c.self)
	case protocols&^(switchable&c.set) != 0:
		return fmt.Errorf("component: Activate of %v; what can be switched here is %v", protocols, switchable&c.set)
	}
	c.peers[node].want(protocols | c.set&^switchable)
	c.offer(c.peers[node])
	return nil
}

func (a *activated) want(p Protocol) { a.wish, a.changes = p, true }

// mayChange makes a change that is wished for as soon as nothing is unacknowledged, and tells whether frames may leave.
func (p *peer) mayChange() bool {
	switch {
	case !p.changes:
	case p.unacked.Len() == 0:
		p.active, p.changes = p.wish, false
	default:
		return p.again()
	}
	return true
}

// flags returns which protocols act on a frame.
func (c *Baseline) flags(p *peer, h *Header) (f Protocol) {
	f = c.set & p.active & (Reliability | Credits)
	if h.Group != 0 {
		f |= Multicast
	}
	if h.MTU != 0 && int(h.MTU) != c.traits.MTU {
		f |= MTU
	}
	if h.Buffer != 0 {
		f |= Rendezvous
	}
	return f & c.set
}

// settings is the number of the built-in encapsulated protocol: its unit says which protocols the evaluating component is to have
// act on frames to the sender, and with which MTU it is to cut its messages.
const settings = 0

// settingsSize is the size of its unit: protocols, three bytes that are 0, MTU (0: as it is).
const settingsSize = 8

// Ask asks a node's component to Activate protocols for frames to this node, and, if mtu is not 0, to SetMTU. The node's NIC does so when the
// frame comes, without its host. What the node cannot do it counts as Unknown and does not do.
func (c *Component[S]) Ask(node int, protocols Protocol, mtu int, done func(error)) error {
	if mtu < 0 || mtu > maxMTU {
		return fmt.Errorf("component: an MTU of %d B", mtu)
	}
	return c.carry(node, settings, binary.BigEndian.AppendUint32([]byte{byte(protocols), 0, 0, 0}, uint32(mtu)), done)
}

// Carry sends a unit of another protocol in a frame, which the node's NIC evaluates: the active network. Protocols have numbers
// from 1 on. A unit fits into a frame. It is done as a message is (Send).
func (c *Component[S]) Carry(node, protocol int, unit []byte, done func(error)) error {
	if protocol < 1 {
		return fmt.Errorf("component: protocol %d; there are 1 to %d", protocol, 1<<16-1)
	}
	return c.carry(node, protocol, unit, done)
}

func (c *Component[S]) carry(node, protocol int, unit []byte, done func(error)) error {
	if err := c.needs(Active, "a capsule"); err != nil {
		return err
	}
	if len(unit) > c.traits.MTU {
		return fmt.Errorf("component: a unit of %d B; a frame has room for %d", len(unit), c.traits.MTU)
	}
	return c.sendKind(Capsule, node, protocol, unit, done)
}

// Evaluate has f evaluate the units of a protocol, on the NIC; nil ends that. f looks at the unit, which is valid until it
// returns, and may Carry another one.
func (c *Baseline) Evaluate(protocol int, f func(from int, unit []byte)) error {
	if err := c.needs(Active, "Evaluate"); err != nil {
		return err
	}
	if protocol < 1 || protocol >= 1<<16 {
		return fmt.Errorf("component: protocol %d; there are 1 to %d", protocol, 1<<16-1)
	}
	if c.capsules == nil {
		c.capsules = map[uint16]func(int, []byte){}
	}
	if c.capsules[uint16(protocol)] = f; f == nil {
		delete(c.capsules, uint16(protocol))
	}
	return nil
}

// evaluate evaluates the unit that has come.
func (c *Component[S]) evaluate() {
	p, unit := c.carried.peer, c.carried.unit
	switch f := c.capsules[c.carried.port]; {
	case c.carried.port == settings && c.configure(p, unit), f != nil:
		c.counts.Evaluated++
		if f != nil {
			f(p.node, unit)
		}
	default:
		c.counts.Unknown++
	}
	c.freeFrame(c.done)
}

// configure does what a unit of settings says, or nothing.
func (c *Component[S]) configure(p *peer, unit []byte) bool {
	if len(unit) != settingsSize || unit[1]|unit[2]|unit[3] != 0 || Protocol(unit[0])&^(switchable&c.set) != 0 {
		return false
	}
	if mtu := int(binary.BigEndian.Uint32(unit[4:])); mtu != 0 && c.SetMTU(mtu) != nil {
		return false
	}
	p.activated.want(Protocol(unit[0]) | c.set&^switchable)
	c.offer(p)
	return true
}
