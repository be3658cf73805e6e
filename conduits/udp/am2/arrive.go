package am2

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// inLane is the receiving end of a lane. It takes every packet inside the window that it has
// not had, in whatever order they come.
type inLane struct {
	next     uint32 // all before were received, or will not come
	high     uint32 // one beyond the highest that was received
	beyond   uint32 // had from next on: marked in have
	refusals uint32 // refused: marked in refused, until their sender knows
	reason   Reason // why
	have     *gaps  // nil if none is marked
	refused  *bitmap
	asms     *assembly
}

// arrival is a packet, or an assembly, that waits for its delivery.
type arrival struct {
	ch    *channel
	seq   uint32
	at    int    // in records: those before have been delivered
	data  []byte // records
	block *Block // where they lie
	asm   *assembly
}

// arrivals are those of a lane of an endpoint.
type arrivals struct {
	fifo.Queue[arrival]
	condensed int // from the front, those that pin no large block for little
}

// Drop removes the first.
func (q *arrivals) Drop() {
	q.condensed = max(q.condensed-1, 0)
	q.Queue.Drop()
}

// Receive takes a datagram that was received from an address and is authentic. It lies in
// block, of which the bundle holds what it keeps. No message is delivered, but the payload of
// a Long may be stored, see Handler.Place.
func (b *Bundle) Receive(now time.Duration, from netip.AddrPort, block *Block, datagram []byte) {
	b.now = max(b.now, now)
	if b.dirty {
		b.flush() // what is acknowledged now may be on the wire still
	}
	b.stats.Received++
	n, ok := HeadLen(datagram)
	if !ok {
		b.stats.Malformed++
		return
	}
	var h header
	parseHeader(&h, datagram)
	if (h.flags&flagReplyAcks != 0) != b.cfg.ReplyAcks {
		b.stats.Malformed++
		return
	}
	ch := b.sender(from, &h)
	if ch == nil {
		b.stats.Dropped++
		return
	}
	ch.news(b.now, &h)
	if h.kind <= fragReply {
		ch.accept(b.now, &h, block, datagram, n)
	} else {
		ch.heed(b.now, &h, datagram)
	}
	if h.kind == packAck || h.flags&flagGaps == 0 {
		ch.reach(b.now, &h)
	}
	ch.peer.wake(ch)
}

// heed takes a packet that is of no lane.
func (ch *channel) heed(now time.Duration, h *header, datagram []byte) {
	switch h.kind {
	case packAck:
		words, ok := parseSelective(datagram[FixedHead:])
		if !ok {
			ch.peer.b.stats.Malformed++
			return
		}
		for l := range lanes {
			ch.selected(now, l, h.acks[l], words[l])
		}
	case packProbe:
		ch.wantAck()
	case packReturned:
		ch.returned(h)
	}
}

// sender returns the channel to which a datagram belongs. Requests and probes make it if need be.
func (b *Bundle) sender(from netip.AddrPort, h *header) *channel {
	if pr := b.recent; pr != nil && pr.addr == from {
		if ch := pr.recent; ch != nil && ch.key.of(h) {
			return ch
		}
	}
	return b.meet(from, h)
}

// meet looks the channel up, or makes it.
func (b *Bundle) meet(from netip.AddrPort, h *header) *channel {
	opens := h.kind == packRequests || h.kind == fragRequest || h.kind == packProbe
	pr := b.peerAt(from)
	if pr == nil && opens {
		pr = b.newPeer(from)
	}
	if pr == nil {
		return nil
	}
	ch := pr.channel(h.ends())
	if ch == nil && opens {
		ch = b.newChannel(pr, h.ends())
	}
	return ch
}

// news takes what the header of every packet tells.
func (ch *channel) news(now time.Duration, h *header) {
	newest := ch.peer.hear(now, h)
	if !ch.peer.b.cfg.ReplyAcks {
		for l := range lanes {
			if ol := &ch.out[l]; before(ol.base, h.acks[l]) && !before(ol.seq, h.acks[l]) {
				ch.cumulative(now, l, h.acks[l])
			}
		}
		if before(ch.settled, h.settled) {
			ch.settle(h.settled)
		}
	}
	if ol := &ch.out[requests]; newest && ol.room != int(h.room) {
		if ol.room < int(h.room) {
			ch.probes = 0
		}
		ol.room = int(h.room)
	}
}

// roomFor returns how many packets of requests beyond the cumulative acknowledgement are taken.
func (ch *channel) roomFor() int {
	b, in := ch.peer.b, &ch.in[requests]
	free := b.cfg.Receive - b.waiting[requests]
	if free <= 0 || b.bytes[requests] >= b.cfg.ReceiveBytes {
		if !ch.choked {
			ch.choked = true
			b.choked = append(b.choked, ch)
		}
		return 0
	}
	return free + int(in.high-in.next)
}

// accept takes a packet of a lane unless it was received, was or is refused, or there is no room.
func (ch *channel) accept(now time.Duration, h *header, block *Block, d []byte, head int) {
	b, l, fragmented := ch.peer.b, lane(h.kind&1), h.kind >= fragRequest
	in := &ch.in[l]
	lowest := h.seq - h.below
	if b.cfg.ReplyAcks && l == requests {
		ch.freeReplies(lowest)
	}
	if before(in.next, lowest) {
		ch.skip(in, lowest)
	}
	ahead := h.seq - in.next
	switch {
	case int32(ahead) < 0 || in.beyond > 0 && ahead < maxWindow && in.have.has(h.seq):
		b.stats.Duplicates++
		ch.repeated(now, l, h.seq)
		return
	case int(ahead) >= b.cfg.Window, b.cfg.ReplyAcks && l == requests && int(h.seq-ch.out[replies].base) >= b.cfg.Window:
		b.stats.Dropped++
		return
	case in.refusals > 0 && in.refused.has(h.seq):
		ch.refuse(now, l, h.seq, in.reason)
		return
	}
	var f fragment
	if fragmented {
		var err error
		if f, err = parseFragment(d[fragmentHead:head], len(d)-head); err != nil {
			b.stats.Malformed++
			return
		}
	}
	first := h.seq - f.index
	if !fragmented || in.assembly(first) == nil {
		if reason := ch.refusal(l, h.tag); reason != 0 {
			ch.mark(in, h.seq, reason)
			ch.refuse(now, l, h.seq, reason)
			return
		}
	}
	ok := false
	if fragmented {
		ok = ch.assemble(in, l, first, h.seq, &f, d[head:])
	} else {
		ok = ch.keep(l, h.seq, block, d[FixedHead:])
	}
	if !ok {
		b.stats.Dropped++
		ch.wantAck() // to tell the room
		return
	}
	ch.oweAck(now, ch.had(in, h.seq), fragmented && f.index+1 < f.count && in.beyond == 0)
	if b.cfg.ReplyAcks && l == replies {
		ch.replied(h.seq)
	}
}

// refusal returns why a packet of a lane is not let in, or 0. Replies need no tag: they were
// asked for.
func (ch *channel) refusal(l lane, t Tag) Reason {
	switch {
	case ch.ep == nil:
		return NoEndpoint
	case l == requests && !ch.ep.tag.matches(t):
		return TagMismatch
	}
	return 0
}

// keep has a packet of records wait for its delivery, if there is room.
func (ch *channel) keep(l lane, seq uint32, block *Block, records []byte) bool {
	b := ch.peer.b
	if len(records) == 0 {
		return true
	}
	if b.waiting[l] >= b.cfg.Receive || b.bytes[l]+len(records) > b.cfg.ReceiveBytes {
		return false
	}
	a := ch.enqueue(l)
	if a == nil {
		return true
	}
	b.bytes[l] += len(records)
	block.hold()
	a.seq, a.data, a.block = seq, records, block
	return true
}

// enqueue adds an arrival to those of the channel's endpoint, to be filled in, or returns nil if
// that has been closed since the first fragment came.
func (ch *channel) enqueue(l lane) *arrival {
	b := ch.peer.b
	if ch.ep == nil {
		return nil
	}
	b.waiting[l]++
	b.events++
	a := ch.ep.arrived[l].Add()
	a.ch = ch
	return a
}

// had notes that a packet was taken, and reports whether it has opened or filled a gap.
func (ch *channel) had(in *inLane, seq uint32) (out bool) {
	out = seq != in.high
	if !before(seq, in.high) {
		in.high = seq + 1
	}
	if seq != in.next {
		if in.have == nil {
			in.have = ch.peer.b.gaps()
		}
		in.have.mark(seq)
		in.beyond++
		return out
	}
	in.next++
	ch.advance(in)
	return out
}

// advance moves next over what was received, and gives up a bitmap that marks nothing.
func (ch *channel) advance(in *inLane) {
	b := ch.peer.b
	for in.beyond > 0 && in.have.has(in.next) {
		in.have.clear(in.next)
		in.beyond--
		in.next++
	}
	if in.beyond == 0 && in.have != nil {
		in.have.n = 0
		b.marked = append(b.marked, in.have)
		in.have = nil
	}
	if in.refusals == 0 && in.refused != nil {
		b.bitmaps = append(b.bitmaps, in.refused)
		in.refused = nil
	}
}

// mark notes that a packet was refused. It stays so until its sender has moved on, whatever
// becomes of the tag meanwhile: a copy of it must not be delivered after it was returned.
func (ch *channel) mark(in *inLane, seq uint32, reason Reason) {
	if in.refused == nil {
		in.refused = ch.peer.b.bitmap()
	}
	in.refused.set(seq)
	in.refusals++
	in.reason = reason
}

// skip moves on to a sequence number below which the sender has nothing any more.
func (ch *channel) skip(in *inLane, lowest uint32) {
	if lowest-in.next > maxWindow {
		ch.forget(in)
		in.next = lowest
	}
	for ; in.next != lowest; in.next++ {
		if in.beyond > 0 && in.have.has(in.next) {
			in.have.clear(in.next)
			in.beyond--
		}
		if in.refusals > 0 && in.refused.has(in.next) {
			in.refused.clear(in.next)
			in.refusals--
		}
	}
	if before(in.high, in.next) {
		in.high = in.next
	}
	ch.advance(in)
	ch.abandon(in)
}

// forget clears all marks of a lane.
func (ch *channel) forget(in *inLane) {
	if in.have != nil {
		*in.have = gaps{}
	}
	if in.refused != nil {
		*in.refused = bitmap{}
	}
	in.beyond, in.refusals = 0, 0
}

// gaps returns some without marks.
func (b *Bundle) gaps() *gaps {
	n := len(b.marked)
	if n == 0 {
		return new(gaps)
	}
	g := b.marked[n-1]
	b.marked = b.marked[:n-1]
	return g
}

// bitmap returns one without marks.
func (b *Bundle) bitmap() *bitmap {
	n := len(b.bitmaps)
	if n == 0 {
		return new(bitmap)
	}
	m := b.bitmaps[n-1]
	b.bitmaps = b.bitmaps[:n-1]
	return m
}

// repeated answers a packet that was received before: its acknowledgement was lost.
func (ch *channel) repeated(now time.Duration, l lane, seq uint32) {
	if ch.peer.b.cfg.ReplyAcks {
		ch.replyAgain(now, l, seq)
		return
	}
	if in := &ch.in[l]; in.beyond > 0 && before(in.next, seq) {
		in.have.mark(seq)
	}
	ch.wantAck()
}
