package am2

import "time"

// bulkSlot marks the slot of a reservation of bulk.
const bulkSlot = 1 << 32

// Reserve finds room for a request and sets the windows of op for its arguments and payload;
// Commit must follow. It sends nothing but what has filled a packet.
func (e *Endpoint) Reserve(op *Op) Result {
	if op.Index >= uint32(len(e.table)) || !e.table[op.Index].mapped {
		return Unmapped
	}
	t := &e.table[op.Index]
	ch := t.ch
	if ch == nil {
		if ch = e.channelTo(op.Index); ch == nil {
			return NoRoom
		}
	}
	if int(ch.outstanding) >= e.b.cfg.Depth {
		ch.starve()
		return NoRoom
	}
	r := ch.reserve(requests, t.tag, op)
	if r == Reserved {
		ch.outstanding++
		ch.uncommitted++
	}
	return r
}

// Commit sends the request that was reserved: at once if nothing else of its channel is under
// way, otherwise with those that follow, at the latest at the next Service but one.
func (e *Endpoint) Commit(op *Op) { e.b.commit(op).uncommitted-- }

// ReserveReply is Reserve for the reply to the request that Arrived was called for. It never
// answers NoRoom. Only Arrived of a request may call it, once.
func (e *Endpoint) ReserveReply(op *Op) Result {
	return e.b.serving.ch.reserve(replies, Wildcard, op)
}

// CommitReply is Commit for a reply, to be called before Arrived returns. What is not sent at
// once is sent by the next Service.
func (e *Endpoint) CommitReply(op *Op) { e.b.commit(op) }

// starve has the peer asked for news if they do not come by themselves.
func (ch *channel) starve() {
	if ch.starved || ch.peer.b.cfg.ReplyAcks {
		return
	}
	ch.starved = true
	ch.expectNews(ch.peer.b.now)
}

// reserve finds room for a message of a lane.
func (ch *channel) reserve(l lane, tag Tag, op *Op) Result {
	p := ch.out[l].open
	size := recordSize(op.Kind, op.NArgs, op.Len)
	if p == nil || p.reserved != 0 || p.n+size > p.limit || p.tag != tag {
		var r Result
		if p, r = ch.another(l, tag, size, op); p == nil {
			return r
		}
	}
	at := p.n + headerSize(op.Kind)
	op.Args = arguments(p.buf, at)
	at += padded(4 * op.NArgs)
	op.Data = p.buf[at : at+op.Len : at+op.Len]
	op.Slot = uint64(p.id)
	p.reserved = size
	return Reserved
}

// another finds a packet for a message that does not fit the open one as it is. If no packet
// could hold it, bulk is reserved; p is nil then, and also if there is no room.
func (ch *channel) another(l lane, tag Tag, size int, op *Op) (p *packet, r Result) {
	b, ol := ch.peer.b, &ch.out[l]
	if most := b.most(op.Kind); op.Len > most {
		return nil, TooLong
	}
	if n := FixedHead + size; n > MinDatagram && n > ch.packLimit() || !b.inlined(op) {
		return nil, ch.reserveBulk(l, tag, op)
	}
	open := ol.open
	if open != nil && open.reserved == 0 && open.tag == tag && open.n+size <= ch.extend(open) {
		return open, Reserved
	}
	if open != nil && open.reserved != 0 {
		if q := ch.release(l); q != nil {
			ch.queue(b.clock(), q)
		}
		ol.open, open.alone = nil, true // it goes when it is committed
	} else if open != nil {
		ch.close(b.clock(), l)
	}
	if l == requests && b.used[l] >= b.cfg.Packets {
		return nil, NoRoom
	}
	p = b.newLarge(ch, l)
	p.tag = tag
	ol.open = p
	return p, Reserved
}

// most returns the payload bytes of a kind at most.
func (b *Bundle) most(k Kind) int {
	switch k {
	case Medium:
		return b.cfg.MaxMedium
	case Long:
		return b.cfg.MaxBulk
	}
	return 0
}

// inlined reports whether Config.Inline lets a message travel in a packet.
func (b *Bundle) inlined(op *Op) bool { return b.cfg.Inline == 0 || op.Len <= b.cfg.Inline }

// packLimit returns the bytes of a packet in which messages gather.
func (ch *channel) packLimit() int {
	b := ch.peer.b
	return min(b.packSize(), b.wire.MTU(ch.peer.addr)&^(unit-1))
}

// extend has an open packet take as many bytes as the path carries, and returns how many. Most
// packets leave with so few that every path carries them, and nobody need be asked.
func (ch *channel) extend(p *packet) int {
	p.limit = ch.packLimit()
	return p.limit
}

// clock reads the time, for what is sent outside of Receive, Deliver and Service.
func (b *Bundle) clock() time.Duration {
	b.now = max(b.now, b.wire.Now())
	return b.now
}

// commit completes the reservation of op.
func (b *Bundle) commit(op *Op) *channel {
	if op.Slot&bulkSlot != 0 {
		return b.commitBulk(op)
	}
	p := b.packets[op.Slot]
	putRecord(p.buf[p.n:], op)
	p.n += recordSize(op.Kind, op.NArgs, op.Len)
	p.reserved = 0
	p.count++
	p.fresh = true
	ch, l := p.ch, p.lane
	ol := &ch.out[l]
	switch {
	case p.alone:
		ch.queue(b.clock(), p)
	case b.cfg.ReplyAcks || b.cfg.Inline > 0 || ol.idle():
		ch.close(b.clock(), l)
	default:
		ch.gather()
		return ch
	}
	if b.dirty {
		b.flush()
	}
	return ch
}

// gather has Service look at the open packets.
func (ch *channel) gather() {
	if !ch.gathers {
		ch.gathers = true
		ch.peer.b.gathering = append(ch.peer.b.gathering, ch)
	}
}

// close has the open packet sent as it is; it has no reservation.
func (ch *channel) close(now time.Duration, l lane) {
	ol := &ch.out[l]
	p := ol.open
	ol.open = nil
	ch.queue(now, p)
}

// queue sends a complete packet, or has it wait until the windows let it out.
func (ch *channel) queue(now time.Duration, p *packet) {
	b, pr := ch.peer.b, ch.peer
	p.state, p.alone = pending, false
	if b.cfg.ReplyAcks && p.lane == replies {
		p.seq = b.serving.seq
	}
	ol := &ch.out[p.lane]
	if p.lane == requests {
		ch.asked += uint32(p.count)
	}
	if pr.ready == nil && !ch.waits() && p.bulk == nil && ch.allowed(ol, p.lane) && pr.open(now, ol, p.lane) {
		ch.sendNew(now, ol, p) // it is the only one: pump would do the same
		if pr.path != nil {
			pr.path.idle(pr.inFlight)
		}
		return
	}
	ol.pending.push(p)
	if _, first := ch.sendable(); first == nil {
		ch.expectNews(now) // of room, if it does not come with acknowledgements
		return
	}
	pr.makeReady(ch)
	pr.pump(now)
}

// waits reports whether packets of the channel wait to be sent, for the first time or again.
func (ch *channel) waits() bool {
	r, p := &ch.out[requests], &ch.out[replies]
	return r.pending.head != nil || p.pending.head != nil || r.lost.head != nil || p.lost.head != nil
}

// allowed reports whether the window lets a new packet of a lane out.
func (ch *channel) allowed(ol *outLane, l lane) bool {
	c := &ch.peer.b.cfg
	return c.ReplyAcks && l == replies || ol.within(ol.seq, l, c)
}

// sendable returns the packet of the channel to be sent next, or nil. Replies go first, and
// what was lost before what is new.
func (ch *channel) sendable() (lane, *packet) {
	c := &ch.peer.b.cfg
	for l := replies; l < lanes; l-- { // replies, requests; then it wraps around
		ol := &ch.out[l]
		for p := ol.lost.head; p != nil && (ol.room > 0 || l == replies || c.ReplyAcks); p = p.next {
			if ol.within(p.seq, l, c) {
				return l, p
			}
		}
		if p := ol.pending.head; p != nil && ch.allowed(ol, l) {
			return l, p
		}
	}
	return 0, nil
}

// sendNext sends what sendable has returned.
func (ch *channel) sendNext(now time.Duration, l lane, p *packet) {
	ol := &ch.out[l]
	switch {
	case p.state == missing:
		ol.lost.remove(p)
		ch.transmit(now, ol, p)
	case p.bulk != nil:
		ch.sendNew(now, ol, ch.nextFragment(ol, p.bulk))
	default:
		ol.pending.remove(p)
		ch.sendNew(now, ol, p)
	}
}

// sendNew sends a packet for the first time.
func (ch *channel) sendNew(now time.Duration, ol *outLane, p *packet) {
	b := ch.peer.b
	if b.cfg.ReplyAcks && p.lane == replies {
		b.kept++ // and has the number of its request
	} else {
		p.seq = ol.seq
	}
	b.enter(ol, p)
	ch.transmit(now, ol, p)
}

// transmit sends a packet that has its sequence number and is in no list.
func (ch *channel) transmit(now time.Duration, ol *outLane, p *packet) {
	pr, b := ch.peer, ch.peer.b
	size := p.size()
	if p.state == flying || p.state == missing {
		b.stats.Retransmissions++
		ch.judge(p, size)
	}
	p.state = flying
	ol.flight.push(p)
	if pr.path == nil && pr.flight >= firstPackets-1 && !b.cfg.ReplyAcks && !b.cfg.Unpaced {
		pr.path = newPath(now, max(pr.inFlight+size, firstPackets*min(b.cfg.Datagram, b.wire.MTU(pr.addr))))
	}
	if pr.path != nil {
		pr.path.sending(now, p, size, pr.inFlight)
	}
	pr.flight++
	pr.inFlight += size
	p.sent = now
	if p.heard != pr.heard {
		p.heard, p.tries = pr.heard, 0
	}
	p.tries++
	kind := packetKind(p.lane)
	if p.bulk != nil {
		kind += fragRequest
	}
	ch.send(now, kind, 0, p)
	if p.lane == replies && b.cfg.ReplyAcks {
		return
	}
	if pr.trying < 0 {
		pr.trying = now
	}
	if ch.probeAt == 0 {
		ch.expectNews(now)
	}
	ch.schedule(now + pr.rtt.timeout(&b.cfg, int(pr.backoff)))
}

// judge looks at what became of a packet's last transmission, before the next. It was in vain if
// something that was sent no earlier has arrived, but nothing as long.
func (ch *channel) judge(p *packet, size int) {
	switch pr := ch.peer; {
	case pr.passedAt >= p.sent && pr.passed >= size:
		p.vain = 0 // its losses are no matter of its length
	case ch.reached+tick > p.sent:
		p.vain++
	}
}

// release empties the open packet of a lane so that it can be sent or returned, though a
// reservation may be open in it: then its messages move to a packet of their own, and it
// begins behind them. It returns nil if there are no messages.
func (ch *channel) release(l lane) *packet {
	ol := &ch.out[l]
	p := ol.open
	if p == nil || p.count == 0 {
		return nil
	}
	if p.reserved == 0 {
		ol.open = nil
		return p
	}
	q := ch.peer.b.newLarge(ch, l)
	q.n = copy(q.buf, p.buf[p.start:p.n])
	q.count, q.tag = p.count, p.tag
	p.start, p.count = p.n-FixedHead, 0
	return q
}
