package gm

import "fmt"

// Leaks returns an error if a host at which nothing happens lacks buffers or tokens that no message has.
func (h *Host) Leaks() error {
	g := h.program
	queue := g.queue
	if g.current != nil {
		queue++
	}
	if g.slots != g.profile.GM.Queue || queue != g.profile.GM.Queue || g.transit.Pool() != g.image.Transit.Pool || g.busy || g.waiting != nil || g.bells.Waiting() > 0 ||
		g.transit.Waiting()+g.controls.Len()+g.mappings.Len()+g.stores.Len()+g.storing.Len()+g.loading.Len()+g.loaded.Len() > 0 {
		return fmt.Errorf("node %d has %d buffers of the send queue, %d of the receive queue, %d of the pool; sends: %v, holds up a packet: %v", g.id, g.slots, queue, g.transit.Pool(), g.busy, g.waiting != nil)
	}
	open := 0
	for _, p := range h.ports {
		if p != nil {
			open++
			if len(p.free) != len(p.sends) {
				return fmt.Errorf("node %d: port %d has %d of %d send tokens", g.id, p.number, len(p.free), len(p.sends))
			}
		}
	}
	if len(h.opened) != open {
		return fmt.Errorf("node %d keeps %d ports, %d are open", g.id, len(h.opened), open)
	}
	for number, out := range h.out {
		if p := h.ports[number]; out.sends > 0 || p == nil && out.accepts > 0 {
			return fmt.Errorf("node %d: of port %d %+v tokens are out", g.id, number, out)
		}
	}
	for _, c := range g.conns {
		if c != nil && c.tokens.Len() > 0 {
			return fmt.Errorf("node %d keeps %d messages to node %d", g.id, c.tokens.Len(), c.node)
		}
	}
	return nil
}
