package component

import "fmt"

// group is nodes to whom a message goes together. The host hands each frame over once, and its NIC sends it to each member.
type group struct {
	*address
	members []int
}

// Everybody is the group of all other nodes.
const Everybody = 0

// SetGroup says which nodes a group has, from 1 to Traits.Groups. It concerns this component's messages; the members need not know.
// It fails while a message to the group is on its way to the NIC.
func (c *Baseline) SetGroup(id int, nodes ...int) error {
	if err := c.needs(Multicast, "SetGroup"); err != nil {
		return err
	}
	if id < 1 || id >= len(c.groups) {
		return fmt.Errorf("component: group %d; there are 1 to %d (Traits.Groups)", id, len(c.groups)-1)
	}
	if c.pending > 0 {
		return fmt.Errorf("component: group %d is changed while %d messages are not done: wait for them", id, c.pending)
	}
	seen := map[int]bool{c.self: true}
	for _, n := range nodes {
		if n < 0 || n >= len(c.peers) || seen[n] {
			return fmt.Errorf("component: node %d in a group of node %d: each other node can be in it once", n, c.self)
		}
		seen[n] = true
	}
	c.groups[id].members = append([]int(nil), nodes...)
	return nil
}

// SendGroup sends a message to a port of each node of a group, as Send does. It is done when it is done for all; an error is that
// of one of them. Rendezvous makes none for it. Messages to a node and to a group that it is in are in no order among each other.
func (c *Component[S]) SendGroup(id, port int, data []byte, done func(error)) error {
	if err := c.needs(Multicast, "SendGroup"); err != nil {
		return err
	}
	if id < 0 || id >= len(c.groups) || len(c.groups[id].members) == 0 {
		return fmt.Errorf("component: a message to group %d, which has no members", id)
	}
	for _, n := range c.groups[id].members {
		switch {
		case c.routes[n] == nil:
			return ErrNoRoute
		case has[S](Reliability) && c.peers[n].dead:
			return ErrUnreachable
		}
	}
	return c.hand(c.groups[id].address, Data, port, data, done)
}

// needs refuses a call for which a protocol is not in the composition.
func (c *Baseline) needs(p Protocol, call string) error {
	if c.set&p == 0 {
		return fmt.Errorf("component: %s needs %v, which is not in the composition %v", call, p, c.set)
	}
	return nil
}

// membersOf returns for how many nodes a frame is, or 0 if it is for one.
func (c *Baseline) membersOf(s *txSlot) int {
	if s.to.peer != nil {
		return 0
	}
	return len(c.groups[s.to.group-1].members)
}
