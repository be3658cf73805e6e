package am2

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// An acknowledgement tells after the fixed header which packets beyond the cumulative
// acknowledgements have been had: the number of words of either lane's bitmap (16, 16), 0
// (32), and the bitmaps in words of 64 bits. Bit i stands for the i-th packet from the
// cumulative acknowledgement on.
const (
	ackHeader = 8
	ackSize   = FixedHead + ackHeader + int(lanes)*maxWindow/8

	ackEvery      = 2 // packets may be unacknowledged for AckDelay if they are fewer
	lossThreshold = 3 // packets sent later and acknowledged tell a loss (RFC 9002, section 6.1.1)
)

// sendAck sends an acknowledgement.
func (ch *channel) sendAck(now time.Duration) {
	b := ch.peer.b
	p := b.newSmall(ch, requests)
	d := p.buf[FixedHead:]
	clear(d[:ackHeader])
	n := ackHeader
	for l := range lanes {
		words := ch.in[l].selective(d[n:])
		binary.LittleEndian.PutUint16(d[2*l:], uint16(words))
		n += 8 * words
	}
	p.n = FixedHead + n
	b.stats.Acks++
	ch.sendLoose(now, packAck, 0, p)
	ch.ackNow = false // gaps are told
	ch.unacked, ch.ackDue = 0, 0
}

// selective writes the bitmap of what was had beyond the cumulative acknowledgement.
func (in *inLane) selective(d []byte) (words int) {
	if in.beyond == 0 {
		return 0
	}
	n := in.high - in.next
	words = int(n+63) / 64
	clear(d[:8*words])
	for i := range n {
		if in.have.has(in.next + i) {
			d[i/8] |= 1 << (i % 8)
		}
	}
	return words
}

// acknowledged notes that a packet goes to the peer, which tells all but gaps.
func (ch *channel) acknowledged() {
	ch.told = ch.handled
	ch.unacked, ch.ackDue = 0, 0
	if ch.in[requests].beyond|ch.in[replies].beyond == 0 {
		ch.ackNow = false
	}
}

// wantAck has Service acknowledge, unless another packet goes first.
func (ch *channel) wantAck() {
	ch.ackNow = true
	if !ch.acker {
		ch.acker = true
		ch.peer.b.ackers = append(ch.peer.b.ackers, ch)
	}
}

// oweAck notes a packet received, and acknowledges it in time.
func (ch *channel) oweAck(now time.Duration, inOrder bool) {
	b := ch.peer.b
	if b.cfg.ReplyAcks {
		return
	}
	if ch.unacked++; ch.unacked >= ackEvery || !inOrder {
		ch.wantAck()
	}
	if ch.ackDue == 0 {
		ch.ackDue = now + b.cfg.AckDelay
		ch.schedule(ch.ackDue)
	}
}

// cumulative settles the packets of a lane below ack, some of which have been sent.
func (ch *channel) cumulative(now time.Duration, l lane, ack uint32) {
	ol := &ch.out[l]
	full := ch.limited()
	n := 0
	for seq := ol.base; seq != ack; seq++ {
		if p := ol.find(seq); p != nil {
			ch.ack(ol, p)
			n++
		}
	}
	ch.progress(now, l, n, full)
}

// parseSelective checks the bitmaps of an acknowledgement and returns them.
func parseSelective(d []byte) (maps [lanes][]byte, ok bool) {
	if len(d) < ackHeader {
		return maps, false
	}
	rest := d[ackHeader:]
	for l := range lanes {
		n := 8 * int(binary.LittleEndian.Uint16(d[2*l:]))
		if n > maxWindow/8 || n > len(rest) {
			return maps, false
		}
		maps[l], rest = rest[:n], rest[n:]
	}
	return maps, len(rest) == 0
}

// selected settles the packets of a lane that a bitmap marks.
func (ch *channel) selected(now time.Duration, l lane, ack uint32, marks []byte) {
	if len(marks) == 0 {
		return
	}
	ol := &ch.out[l]
	full := ch.limited()
	n := 0
	for i := 0; i < len(marks); i += 8 {
		for w := binary.LittleEndian.Uint64(marks[i:]); w != 0; w &= w - 1 {
			if p := ol.find(ack + uint32(8*i+bits.TrailingZeros64(w))); p != nil {
				ch.ack(ol, p)
				n++
			}
		}
	}
	if n > 0 {
		ch.progress(now, l, n, full)
	}
}

// limited reports whether the congestion window is what limits the peer's packets.
func (ch *channel) limited() bool {
	return 4*ch.peer.flight >= 3*int(ch.peer.cong.window)
}

// ack settles a packet that the peer has.
func (ch *channel) ack(ol *outLane, p *packet) {
	b := ch.peer.b
	if before(ol.acked, p.order) {
		ol.acked = p.order
	}
	if size := p.size(); size > MinDatagram {
		ch.peer.notePassed(size)
	}
	b.leave(ol, p)
	if k := p.bulk; k != nil {
		if k.left--; k.left == 0 {
			b.endBulk(k)
		}
	}
	b.free(p)
}

// progress makes use of the news that n packets of a lane have been settled.
func (ch *channel) progress(now time.Duration, l lane, n int, full bool) {
	pr := ch.peer
	pr.backoff = 0
	ch.probes = 0
	if full {
		pr.cong.acked(n, now, pr.rtt.smoothed)
	}
	ch.detect(now, l)
}

// detect finds the packets of a lane that must be lost, because later ones were acknowledged:
// lossThreshold later, or some and time enough has gone by.
func (ch *channel) detect(now time.Duration, l lane) {
	ol, pr := &ch.out[l], ch.peer
	ol.lossAt = 0
	for p := ol.flight.head; p != nil && before(p.order, ol.acked); p = ol.flight.head {
		late := p.sent + pr.rtt.late(&pr.b.cfg)
		if ol.acked-p.order < lossThreshold && now < late {
			ol.lossAt = late
			ch.schedule(late)
			return
		}
		pr.cong.lost(now, p.sent)
		ol.lose(p)
	}
}
