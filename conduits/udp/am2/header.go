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
	room, below        uint16
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
	h.room = binary.LittleEndian.Uint16(d[atRoom:])
	h.below = binary.LittleEndian.Uint16(d[atBelow:])
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
	binary.LittleEndian.PutUint16(h[atRoom:], uint16(ch.roomFor()))
	binary.LittleEndian.PutUint16(h[atBelow:], uint16(p.seq-ch.out[p.lane].base))
	binary.LittleEndian.PutUint32(h[atSettled:], ch.handled)
	binary.LittleEndian.PutUint32(h[atStamp:], stampOf(now))
	b.wire.Send(pr.addr, d, p.body, p.times)
	b.dirty = true
	b.stats.Sent++
	ch.acknowledged()
}

// sendLoose sends a packet that is not kept.
func (ch *channel) sendLoose(now time.Duration, kind packetKind, flags uint8, p *packet) {
	ch.send(now, kind, flags, p)
	ch.peer.b.loose = append(ch.peer.b.loose, p)
}
