package grim

import "fmt"

// Leaks returns an error if a host at which nothing happens lacks buffers, tokens or room.
func (h *Host) Leaks() error {
	p := h.program
	room := p.room
	if p.armed {
		room++
	}
	if room != p.profile.GRIM.Buffers || p.forwards != p.image.Multicast || p.busy || p.blocked != nil || p.controls.Len()+p.late.Len()+p.loading.Len() > 0 {
		return fmt.Errorf("host %d has %d of %d receive buffers; sends: %v, holds up a packet: %v, %d control messages, %d payloads to be fetched",
			p.id, room, p.profile.GRIM.Buffers, p.busy, p.blocked != nil, p.controls.Len(), p.loading.Len())
	}
	if p.counts.MostQueued > p.capacity {
		return fmt.Errorf("host %d has had %d control messages in a queue of %d", p.id, p.counts.MostQueued, p.capacity)
	}
	if p.held+p.owed+p.promised+p.misses.Len()+p.replies.Len()+p.stores.Len() > 0 {
		return fmt.Errorf("host %d: %d buffers held, %d answers owed, %d blocks promised, %d misses, %d replies, %d stores",
			p.id, p.held, p.owed, p.promised, p.misses.Len(), p.replies.Len(), p.stores.Len())
	}
	for i := range p.channels {
		c := &p.channels[i]
		if c.owner == nil {
			continue
		}
		if c.messages.Len() > 0 || c.free.Len() != tokens/len(p.channels) || c.owner.queue.parts.Len() > 0 || c.incoming.bytes > 0 || c.owner.overflow.Len()+c.owner.arrived.Len() > 0 {
			return fmt.Errorf("host %d, channel %d: %d messages, %d tokens, %d parts of the receive queue", p.id, i, c.messages.Len(), c.free.Len(), c.owner.queue.parts.Len())
		}
	}
	for _, m := range p.scoreboard {
		if m != nil {
			return fmt.Errorf("host %d: a message in the scoreboard", p.id)
		}
	}
	return nil
}

// TakeRequest and TakeList decode what the server of handlers is sent, and what it sends, in a database of their own. They return
// the server's list, and whether the message was well formed.
func TakeRequest(b []byte) (list []byte, ok bool) {
	r := registry{ids: map[string]HandlerID{}}
	ok, _ = r.number(b)
	return r.list(), ok
}

// TakeList is as TakeRequest says.
func TakeList(b []byte) (ids map[string]HandlerID, ok bool) {
	r := registry{ids: map[string]HandlerID{}}
	ok = r.take(b)
	return r.ids, ok
}
