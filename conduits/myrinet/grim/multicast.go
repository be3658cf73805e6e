package grim

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// The reference has a field of the header for trees, and not how they work. What follows is ours. A message goes from NI to NI along
// the branches of a tree. Each branch is an ordinary go-back-N flow between the forwarders of two NIs: channels that are the firmware's own. An NI that
// takes a multicast message in has room for it at its own member and in a buffer of Image.Multicast, or refuses it; it then sends
// it to its children, and hosts run nothing for that. The buffer is free when all children have acknowledged.
//
// Refusals are common where buffers are few. An NI that sent a refused message again at once would keep the refusing one from sending anything itself; so
// forwarders wait for grim.pause.
//
// Buffers of NIs can wait for each other in a circle if trees cross. So an NI other than the root's has children on hosts of higher numbers only.

// tree is what an NI knows of a multicast tree.
type tree struct {
	root     EndpointID
	member   *Endpoint    // here; nil: none
	children []EndpointID // forwarders
}

// treeSize is what an NI's table of trees takes of the SRAM for each tree, and branchSize what it takes for a child, in bytes.
const (
	treeSize   = 8
	branchSize = 2
	// MaxTrees is how many trees there can be: a header has 8 bits, and 0 is none.
	MaxTrees = 255
)

// ErrTree says that an NI has no such tree, or is not its root.
var ErrTree = errors.New("grim: no such multicast tree")

// branching is a multicast message that an NI sends to its children.
type branching struct {
	left    int      // children that have not acknowledged it
	channel *channel // of the root
	message *message // there
	pooled  bool     // not at the root: it has a buffer of Image.Multicast
}

// OpenForwarder gives the firmware a channel to send multicast messages on by. A host on which a tree has children needs it, and so
// does one that has a member. No endpoint can have the channel.
func (h *Host) OpenForwarder(channel int) (EndpointID, error) {
	p := h.program
	if p.image.Multicast < 1 {
		return 0, errors.New("grim: a forwarder needs buffers for multicast messages (Image.Multicast)")
	}
	if p.forwarder != nil {
		return 0, fmt.Errorf("grim: host %d has a forwarder already: channel %d", p.id, p.forwarder.number)
	}
	e, err := h.Open(channel, EndpointOptions{})
	if err != nil {
		return 0, err
	}
	p.forwarder = e.channel
	p.forwarder.circular = true
	p.forwarder.pause = p.loop.NewTimer((*paused)(p), 0, 0)
	return e.ID(), nil
}

// SetTree tells the NI its part of a tree, from 1 to MaxTrees: which endpoint sends messages along it; which endpoint here takes them, nil if
// none does; and the forwarders of other hosts that they go on to. See Cluster.NewTree. It is set before messages are sent.
func (h *Host) SetTree(number uint8, root EndpointID, member *Endpoint, children []EndpointID) error {
	p := h.program
	switch {
	case number == 0:
		return fmt.Errorf("grim: tree 0; there can be 1 to %d", MaxTrees)
	case p.forwarder == nil:
		return fmt.Errorf("grim: host %d has no forwarder (OpenForwarder)", p.id)
	case member != nil && member.host != h:
		return fmt.Errorf("grim: endpoint %d is a member of tree %d at host %d, and lives elsewhere", member.id, number, p.id)
	case p.trees[number] != nil:
		return fmt.Errorf("grim: host %d has a tree %d already", p.id, number)
	}
	for _, c := range children {
		if node := p.node(c); node >= p.nodes || node == p.id || node < p.id && p.node(root) != p.id {
			return fmt.Errorf("grim: host %d has a child of tree %d at host %d: children are on hosts of higher numbers, but those of the root, lest NIs wait for each other in a circle", p.id, number, node)
		}
	}
	if err := p.nic.SRAM.Reserve(fmt.Sprint("tree ", number), treeSize+branchSize*lanai.Bytes(len(children))); err != nil {
		return fmt.Errorf("grim: host %d: %w", p.id, err)
	}
	p.trees[number] = &tree{root, member, append([]EndpointID(nil), children...)}
	return nil
}

// Multicast sends an active message along a tree whose root is the endpoint, to all members. Each gets it once, and messages of the
// tree in the order of the calls. Source of the message is the root. Otherwise it is as Send.
func (e *Endpoint) Multicast(number uint8, handler HandlerID, args [4]uint32, payload []byte) error {
	p := e.host.program
	t := p.trees[number]
	if t == nil || t.root != e.id {
		return fmt.Errorf("%w: endpoint %d is not the root of tree %d", ErrTree, e.id, number)
	}
	return e.send(Header{Type: Multicast, Tree: number, Destination: p.endpoint(p.id, p.forwarder.number), Handler: handler, Args: args}, payload)
}

// paused is the program as the timer of its forwarder tells it that refused messages may be sent again.
type paused Program

// Fire implements vtime.Target.
func (p *paused) Fire(_, _ uint64) { p.nic.CPU.Raise(evScan) }

// Label implements vtime.Labelled.
func (p *paused) Label(_, _ uint64) string { return "GRIM: forwarder goes on" }

// branch has a message sent on to the children of a tree, and returns how many they are. body is the message as it came.
func (p *Program) branch(t *tree, body []byte, b *branching) int {
	for _, child := range t.children {
		f := p.forwarder
		bytes := append(make([]byte, 0, len(body)), body...)
		be := binary.BigEndian
		be.PutUint16(bytes[sourceByte:], uint16(p.endpoint(p.id, f.number)))
		be.PutUint16(bytes[destinationByte:], uint16(child))
		be.PutUint16(bytes[channelByte:], uint16(f.number))
		m := &message{bytes: bytes, to: child, loaded: true, state: notSent, index: f.back, branch: b}
		f.messages.Push(m)
		f.back++
	}
	b.left = len(t.children)
	return len(t.children)
}

// fork has the root's message sent to all children. It stays in its channel's queue until all have acknowledged it.
func (p *Program) fork() {
	c, m := p.found, p.leaving
	p.leaving = nil
	m.state, c.next = sent, m.index+1
	b := &branching{channel: c, message: m}
	if t := p.trees[m.bytes[treeByte]]; p.branch(t, m.bytes, b) == 0 {
		c.acknowledge(m)
	}
	p.nic.CPU.Raise(evScan)
}

// acceptMulticast takes a multicast message in for the member here and for the children, or for none.
func (p *Program) acceptMulticast(in *inflow) {
	t := p.trees[p.header.Tree]
	switch {
	case t == nil || p.target == nil || p.target.channel != p.forwarder: // it counts as delivered to nobody
		p.counts.NoEndpoint++
		p.admitted(in)
		p.spend(p.profile.Steps.Control, p.step.refuse)
		return
	case len(t.children) > 0 && p.forwards == 0, t.member != nil && !t.member.reserve(p.done.Packet.Len()-1):
		p.refuseNow(in)
		return
	}
	p.admitted(in)
	p.counts.Received++
	p.note(Accepts, p.header.Sequence, p.header.Token)
	steps := 0
	if len(t.children) > 0 {
		p.forwards--
		p.counts.Forwarded += uint64(p.branch(t, p.done.Packet.Bytes(), &branching{pooled: true}))
		steps = len(t.children) * p.profile.Steps.Fork
		p.nic.CPU.Raise(evScan)
	}
	if t.member == nil {
		p.spend(steps+p.profile.Steps.Control, p.step.refuse)
		return
	}
	p.target = t.member
	p.spend(steps+p.profile.Steps.Store, p.step.store)
}

// branched takes note that a child has acknowledged a message, or is given up.
func (p *Program) branched(b *branching) {
	if b.left--; b.left > 0 {
		return
	}
	if b.pooled {
		p.forwards++
	} else {
		b.channel.acknowledge(b.message)
	}
	p.nic.CPU.Raise(evScan)
}

// NewTree makes a multicast tree of a number: the root's messages go to all members, of which a host has one at most. Each NI sends to as many
// others as fanout says, at most; with 0 the root sends to all. The hosts have forwarders. The root's own messages do not come to it.
func (c *Cluster) NewTree(number uint8, fanout int, root *Endpoint, members []*Endpoint) error {
	at := make([]*Endpoint, len(c.Hosts))
	for _, m := range members {
		if i := m.host.ID(); at[i] != nil {
			return fmt.Errorf("grim: tree %d has two members at host %d", number, i)
		}
		at[m.host.ID()] = m
	}
	top := root.host.ID()
	hosts := []int{top}
	for i, m := range at { // in rising order behind the root's: see above
		if m != nil && i != top {
			hosts = append(hosts, i)
		}
	}
	if fanout == 0 {
		fanout = len(hosts)
	}
	for i, host := range hosts {
		var children []EndpointID
		for k := i*fanout + 1; k <= (i+1)*fanout && k < len(hosts); k++ {
			f := c.Hosts[hosts[k]].program.forwarder
			if f == nil {
				return fmt.Errorf("grim: host %d has no forwarder (OpenForwarder)", hosts[k])
			}
			children = append(children, f.owner.id)
		}
		if err := c.Hosts[host].SetTree(number, root.id, at[host], children); err != nil {
			return err
		}
	}
	return nil
}
