package am2

import "time"

// compactSize is the size of the blocks to which short packets are copied, so that they do not
// pin one of BlockSize. Longer packets are copied to blocks of Config.Pack.
const compactSize = 2048

// fewBlocks may be pinned without any copying.
const fewBlocks = 8

// Deliver calls the handlers for messages that have arrived or came back, budget of them at
// most, and returns how many they were; a packet that came back counts as one. Endpoints are
// served by weighted round robin, their replies before their requests.
func (b *Bundle) Deliver(now time.Duration, budget int) (n int) {
	b.now = max(b.now, now)
	for ; n < budget; n++ {
		if b.returns.Len() > 0 {
			b.giveBack()
			continue
		}
		if b.waiting[replies] == 0 && b.waiting[requests] == 0 {
			break
		}
		e, l := b.serve()
		if e == nil {
			break
		}
		b.quota--
		b.deliver(e, l)
	}
	return n
}

// replyRoom reports whether a request may be delivered: a reply to it of any size has room.
// HPAM has reply buffers for each partner.
func (b *Bundle) replyRoom() bool {
	return b.cfg.ReplyAcks || b.used[replies] < b.cfg.Replies && b.staged[replies] < b.cfg.Stages
}

// serve returns the endpoint and lane whose turn it is, or nil if nothing can be delivered.
func (b *Bundle) serve() (*Endpoint, lane) {
	room := b.replyRoom()
	if b.waiting[replies] == 0 && !room {
		return nil, 0
	}
	for range len(b.endpoints) + 1 {
		if b.quota > 0 {
			e := b.endpoints[b.turn]
			if e.arrived[replies].Len() > 0 {
				return e, replies
			}
			if room && e.arrived[requests].Len() > 0 {
				return e, requests
			}
		}
		if b.turn++; b.turn >= len(b.endpoints) {
			b.turn = 0
		}
		b.quota = b.endpoints[b.turn].weight
	}
	return nil, 0
}

// deliver calls the handler for the next message of a lane.
func (b *Bundle) deliver(e *Endpoint, l lane) {
	a := e.arrived[l].At(0)
	ch, m := a.ch, &b.message
	if l == replies && ch.answered == ch.asked {
		b.stats.Malformed++
		b.discard(e, l)
		return
	}
	done := true
	if a.asm != nil {
		a.asm.describe(m, ch, l)
	} else {
		size, err := parseRecord(m, a.data[a.at:])
		if err != nil {
			b.stats.Malformed++
			b.discard(e, l)
			return
		}
		m.Endpoint, m.Index, m.Reply, m.ch = e, ch.index, l == replies, ch
		a.at += size
		done = a.at >= len(a.data)
		if m.Kind == Long {
			place(e, m)
		}
	}
	b.active = &e.arrived[l]
	if l == replies {
		b.stats.Replies++
		ch.answered++
		e.handler.Arrived(m)
	} else {
		b.stats.Requests++
		b.deliverRequest(e, ch, a.seq, m)
	}
	b.active = nil
	if done || e.closed {
		b.discard(e, l)
	}
}

// place copies the payload of a Long to its place.
func place(e *Endpoint, m *Message) {
	data := m.Data
	m.Data = nil
	if w := e.handler.Place(m); len(w) >= m.Len {
		m.Data = w[:m.Len:m.Len]
		copy(m.Data, data)
	}
}

// deliverRequest calls the handler for a request, whose reply has room.
func (b *Bundle) deliverRequest(e *Endpoint, ch *channel, seq uint32, m *Message) {
	b.serving = serving{ch, seq}
	ch.handled++ // the reply tells it
	replied := e.handler.Arrived(m)
	b.serving = serving{}
	switch {
	case replied:
	case b.cfg.ReplyAcks:
		ch.replyNothing(seq)
	case ch.handled-ch.told >= uint32(max(b.cfg.Depth/2, 1)):
		ch.wantAck()
	}
}

// discard removes the first arrival of a lane.
func (b *Bundle) discard(e *Endpoint, l lane) {
	q := &e.arrived[l]
	b.retire(q.At(0), l)
	q.Drop()
	b.waiting[l]--
}

// retire gives back what an arrival has held.
func (b *Bundle) retire(a *arrival, l lane) {
	if a.asm != nil {
		b.bytes[l] -= a.asm.memory()
		b.drop(a.asm)
		return
	}
	b.bytes[l] -= len(a.data)
	a.block.Release()
}

// condense copies packets that wait, so that few bytes do not pin many.
func (b *Bundle) condense() {
	if b.blocks.used <= fewBlocks {
		return
	}
	for _, e := range b.endpoints {
		for l := range lanes {
			q := &e.arrived[l]
			if q == b.active { // its first is being delivered
				q.condensed = max(q.condensed, 1)
			}
			for ; q.condensed < q.Len(); q.condensed++ {
				b.condenseOne(q.At(q.condensed))
			}
		}
	}
}

func (b *Bundle) condenseOne(a *arrival) {
	pool := &b.compact
	if len(a.data) > pool.size {
		pool = &b.packs
	}
	if a.asm != nil || len(a.data) > pool.size || a.block.pool != &b.blocks {
		return
	}
	k := pool.get()
	n := copy(k.memory, a.data)
	a.block.Release()
	a.block, a.data = k, k.memory[:n:n]
}
