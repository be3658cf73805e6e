package am2

import (
	"fmt"
	"slices"
)

// mostIndex bounds the translation tables.
const mostIndex = 1 << 24

// Endpoint is a virtual network interface of AM-II: it has a tag that messages must match, a
// translation table by which it sends, and a handler for what arrives. Its channels hold the
// four queues (requests and replies, sent and received).
type Endpoint struct {
	b           *Bundle
	number      uint16
	incarnation uint32
	tag         Tag
	weight      int
	handler     Handler
	table       []entry
	arrived     [lanes]arrivals
	closed      bool
}

// entry is one of a translation table.
type entry struct {
	name   Name
	tag    Tag
	ch     *channel // nil before the first message
	mapped bool
}

// NewEndpoint adds an endpoint to the bundle. Weight is how many messages it is served in one
// turn of the weighted round robin, and how many packets are sent in one; at least 1. The
// pair of number and incarnation must be new.
func (b *Bundle) NewEndpoint(number uint16, incarnation uint32, tag Tag, weight int, h Handler) (*Endpoint, error) {
	if b.numbered[number] != nil {
		return nil, fmt.Errorf("am2: endpoint %d is there already; close it or take another number", number)
	}
	if weight < 1 {
		return nil, fmt.Errorf("am2: endpoint %d with weight %d; it must be at least 1", number, weight)
	}
	e := &Endpoint{b: b, number: number, incarnation: incarnation, tag: tag, weight: weight, handler: h}
	b.numbered[number] = e
	b.endpoints = append(b.endpoints, e)
	for _, ch := range b.all { // of peers that sent too early and were refused
		if ch.key.local == number && ch.key.localInc == incarnation {
			ch.ep = e
		}
	}
	return e, nil
}

// SetTag changes the tag. It decides about packets that arrive from now on.
func (e *Endpoint) SetTag(t Tag) { e.tag = t }

// Tag returns the tag.
func (e *Endpoint) Tag() Tag { return e.tag }

// Map enters a remote endpoint and the tag of messages to it at an index below 1<<24 of the
// translation table, instead of what was there. An entry that was never used takes less than
// 100 bytes. A name should not be at two indices: Message.Index tells the one last used.
func (e *Endpoint) Map(index uint32, name Name, tag Tag) error {
	if index >= mostIndex {
		return fmt.Errorf("am2: index %d of the translation table; it must be below %d", index, mostIndex)
	}
	if !name.Addr.IsValid() {
		return fmt.Errorf("am2: index %d mapped to %v, which has no address", index, name)
	}
	if n := int(index) + 1; n > len(e.table) {
		e.table = append(e.table, make([]entry, n-len(e.table))...)
	}
	e.forget(index)
	e.table[index] = entry{name: name, tag: tag, mapped: true}
	if pr := e.b.peerAt(name.Addr); pr != nil {
		if ch := pr.channel(e.keyOf(name)); ch != nil {
			e.table[index].ch, ch.index = ch, index
		}
	}
	return nil
}

// Unmap removes an entry. What was committed before is sent all the same.
func (e *Endpoint) Unmap(index uint32) {
	if index < uint32(len(e.table)) {
		e.forget(index)
		e.table[index] = entry{}
	}
}

// forget has the channel of an entry lose its index.
func (e *Endpoint) forget(index uint32) {
	if ch := e.table[index].ch; ch != nil && ch.index == index {
		ch.index = NoIndex
	}
}

// Lookup returns the entry at index, or false if there is none.
func (e *Endpoint) Lookup(index uint32) (name Name, tag Tag, ok bool) {
	if index >= uint32(len(e.table)) || !e.table[index].mapped {
		return Name{}, 0, false
	}
	return e.table[index].name, e.table[index].tag, true
}

// Close removes the endpoint. What it has sent is still transmitted, what has arrived and was
// not delivered is dropped, and later messages return to their senders (NoEndpoint).
func (e *Endpoint) Close() {
	if e.closed {
		return
	}
	e.closed = true
	b := e.b
	for l := range lanes {
		e.clear(l)
	}
	delete(b.numbered, e.number)
	i := slices.Index(b.endpoints, e)
	b.endpoints = slices.Delete(b.endpoints, i, i+1)
	if b.turn >= i {
		b.turn--
	}
	b.quota = 0
	for _, ch := range b.all {
		if ch.ep == e {
			ch.ep = nil
		}
	}
}

// clear drops what waits for its delivery, but for what is being delivered.
func (e *Endpoint) clear(l lane) {
	q := &e.arrived[l]
	for i := range q.Len() {
		if i == 0 && e.b.active == q {
			a := *q.At(0)
			q.Drop()
			q.Push(a)
			continue
		}
		e.b.discard(e, l)
	}
}

// keyOf returns the key of the channel to a remote endpoint.
func (e *Endpoint) keyOf(name Name) channelKey {
	return channelKey{
		local: e.number, localInc: e.incarnation, remote: name.Number, remoteInc: name.Incarnation,
	}
}

// channelTo returns the channel of a mapped entry and makes it if need be; nil if the bundle
// has as many as it may.
func (e *Endpoint) channelTo(index uint32) *channel {
	t := &e.table[index]
	pr := e.b.peerAt(t.name.Addr)
	if pr == nil {
		if pr = e.b.newPeer(t.name.Addr); pr == nil {
			return nil
		}
	}
	ch := pr.channel(e.keyOf(t.name))
	if ch == nil {
		if ch = e.b.newChannel(pr, e.keyOf(t.name)); ch == nil {
			return nil
		}
	}
	t.ch, ch.index = ch, index
	return ch
}

// indexOf returns where the table has a name, or NoIndex.
func (e *Endpoint) indexOf(name Name) uint32 {
	for i := range e.table {
		if e.table[i].mapped && e.table[i].name == name {
			return uint32(i)
		}
	}
	return NoIndex
}
