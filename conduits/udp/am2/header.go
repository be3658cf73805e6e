package am2

import (
	"encoding/binary"
	"time"
)

// header is the fixed header of an arrival (packet.go).
type header struct {
	kind               packetKind
	flags              uint8
	source, dest       uint16
	sourceInc, destInc uint32
	number             uint64
	tag                Tag
	seq                uint32
	acks               [lanes]uint32
	echo, echoDelay    uint32
	room, below        uint32
	settled, stamp     uint32
}

// parseHeader reads the header of a datagram that HeadLen has accepted.
func parseHeader(h *header, d []byte) {
	_ = d[:FixedHead] // the only check of bounds
	h.kind, h.flags = packetKind(d[atKind]), d[atFlags]
	h.source, h.dest = Ends(d)
	h.sourceInc = binary.LittleEndian.Uint32(d[atSourceInc:])
	h.destInc = binary.LittleEndian.Uint32(d[atDestInc:])
	h.number = Number(d)
	h.tag = Tag(binary.LittleEndian.Uint64(d[atAMTag:]))
	h.seq = binary.LittleEndian.Uint32(d[atSeq:])
	h.acks[requests] = binary.LittleEndian.Uint32(d[atAcks:])
	h.acks[replies] = binary.LittleEndian.Uint32(d[atAcks+4:])
	h.echo = binary.LittleEndian.Uint32(d[atEcho:])
	h.echoDelay = binary.LittleEndian.Uint32(d[atEchoDelay:])
	h.room = widened(binary.LittleEndian.Uint16(d[atRoom:]))
	h.below = widened(binary.LittleEndian.Uint16(d[atBelow:]))
	h.settled = binary.LittleEndian.Uint32(d[atSettled:])
	h.stamp = binary.LittleEndian.Uint32(d[atStamp:])
}

// ends returns the key of the channel to which a datagram belongs.
func (h *header) ends() channelKey {
	return channelKey{local: h.dest, localInc: h.destInc, remote: h.source, remoteInc: h.sourceInc}
}

// of reports whether a datagram belongs to the channel: k == h.ends(), but without the processor
// having to wait until what parseHeader has written in parts can be read as a whole.
func (k *channelKey) of(h *header) bool {
	return k.remoteInc == h.sourceInc && k.localInc == h.destInc && k.remote == h.source && k.local == h.dest
}

// Counts of packets have 16 bits in a header. From coarse on they are told in units of coarseUnit.
const (
	coarse     = 1 << 15
	coarseUnit = 16
)

// narrowed returns what a header has for a count. round is 0 to round it down, and coarseUnit-1 to
// round it up.
func narrowed(n, round uint32) uint16 {
	if n < coarse {
		return uint16(n)
	}
	return uint16(coarse + min((n-coarse+round)/coarseUnit, coarse-1))
}

// widened returns the count that a header tells.
func widened(v uint16) uint32 {
	if v < coarse {
		return uint32(v)
	}
	return coarse + (uint32(v)-coarse)*coarseUnit
}

// send gives a packet with everything but its header to the wire. The header tells what is
// owed to the peer.
func (ch *channel) send(now time.Duration, kind packetKind, flags uint8, p *packet) {
	pr, b := ch.peer, ch.peer.b
	pr.number++
	d := p.buf[p.start:p.n]
	h := (*[FixedHead]byte)(d)
	clear(h[atTag : atTag+TagSize])
	h[atVersion], h[atKind], h[atFlags], h[atHead] = version, byte(kind), flags, 0
	if p.body != nil {
		h[atHead] = byte(len(d) / unit)
	}
	if b.cfg.ReplyAcks {
		h[atFlags] |= flagReplyAcks
	}
	if ch.in[requests].beyond|ch.in[replies].beyond != 0 {
		h[atFlags] |= flagGaps
	}
	binary.LittleEndian.PutUint16(h[atSource:], ch.key.local)
	binary.LittleEndian.PutUint16(h[atDest:], ch.key.remote)
	binary.LittleEndian.PutUint32(h[atSourceInc:], ch.key.localInc)
	binary.LittleEndian.PutUint32(h[atDestInc:], ch.key.remoteInc)
	binary.LittleEndian.PutUint64(h[atNumber:], pr.number)
	binary.LittleEndian.PutUint64(h[atAMTag:], uint64(p.tag))
	binary.LittleEndian.PutUint32(h[atSeq:], p.seq)
	binary.LittleEndian.PutUint32(h[atAcks:], ch.in[requests].next)
	binary.LittleEndian.PutUint32(h[atAcks+4:], ch.in[replies].next)
	binary.LittleEndian.PutUint32(h[atEcho:], pr.stamp)
	binary.LittleEndian.PutUint32(h[atEchoDelay:], echoDelay(now-pr.seenAt))
	binary.LittleEndian.PutUint16(h[atRoom:], narrowed(uint32(ch.roomFor()), 0))
	binary.LittleEndian.PutUint16(h[atBelow:], narrowed(p.seq-ch.out[p.lane].base, coarseUnit-1))
	binary.LittleEndian.PutUint32(h[atSettled:], ch.handled)
	binary.LittleEndian.PutUint32(h[atStamp:], stampOf(now))
	b.wire.Send(pr.addr, d, p.body, int(p.vain))
	b.dirty = true
	b.stats.Sent++
	ch.acknowledged()
}

// sendLoose sends a packet that is not kept.
func (ch *channel) sendLoose(now time.Duration, kind packetKind, flags uint8, p *packet) {
	ch.send(now, kind, flags, p)
	ch.peer.b.loose = append(ch.peer.b.loose, p)
}
