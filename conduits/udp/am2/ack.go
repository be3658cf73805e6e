package am2

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// An acknowledgement tells after the fixed header which packets beyond the cumulative
// acknowledgements have been received. A lane's bitmap of maxWindow bits has a bit for each sequence
// number, the remainder of which is its place; the words of it that have changed lately are told:
// the number of words of either lane (16, 16), 0 (32), and each word with its place (64, 16).
const (
	ackHeader = 8
	ackWord   = 10
	ackSize   = FixedHead + ackHeader + int(lanes)*mostWords*ackWord

	// mostWords is how many words of a lane an acknowledgement tells at most. All acknowledgements
	// pass wherever MinDatagram does.
	mostWords = 20
	// wordRepeats is in how many acknowledgements a word is told that has changed, since they
	// may be lost.
	wordRepeats = 6

	// Packets may be unacknowledged for AckDelay if they are fewer than ackEvery; or than ackSeldom,
	// if more of the same message follow, nothing before them is missing, and round trips are no
	// shorter than shortest: each acknowledgement takes a system call of either host, and tells
	// little that the next one would not tell soon.
	ackEvery  = 2
	ackSeldom = 8
)

// gaps marks what was received beyond the next packet, and remembers which words have changed lately,
// the latest first.
type gaps struct {
	bitmap
	words [mostWords]changedWord
	n     int
}

// changedWord is a word of a bitmap that has changed.
type changedWord struct {
	at   uint16
	left uint16 // acknowledgements that are to tell it still
}

// mark marks a sequence number, and has it told.
func (g *gaps) mark(seq uint32) {
	g.set(seq)
	at := uint16(seq / 64 % bitmapWords)
	i := 0
	for i < g.n && g.words[i].at != at {
		i++
	}
	if i == g.n { // the one that has not changed for longest makes room
		if g.n < mostWords {
			g.n++
		} else {
			i--
		}
	}
	copy(g.words[1:i+1], g.words[:i])
	g.words[0] = changedWord{at, wordRepeats}
}

// selective writes the words that have changed lately.
func (g *gaps) selective(d []byte) (n int) {
	kept := 0
	for _, w := range g.words[:g.n] {
		if w.left--; g.bitmap[w.at] == 0 {
			continue // the next packet is beyond it
		}
		binary.LittleEndian.PutUint64(d[n*ackWord:], g.bitmap[w.at])
		binary.LittleEndian.PutUint16(d[n*ackWord+8:], w.at)
		n++
		if w.left > 0 {
			g.words[kept] = w
			kept++
		}
	}
	g.n = kept
	return n
}

// sendAck sends an acknowledgement.
func (ch *channel) sendAck(now time.Duration) {
	b := ch.peer.b
	p := b.newSmall(ch, requests)
	d := p.buf[FixedHead:]
	clear(d[:ackHeader])
	n := ackHeader
	for l := range lanes {
		if g := ch.in[l].have; g != nil {
			words := g.selective(d[n:])
			binary.LittleEndian.PutUint16(d[2*l:], uint16(words))
			n += ackWord * words
		}
	}
	p.n = FixedHead + n
	b.stats.Acks++
	ch.sendLoose(now, packAck, 0, p)
	ch.ackNow = false // gaps are told
	ch.unacked, ch.ackDue = 0, 0
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

// oweAck notes a packet received, and acknowledges it in time: at once if it tells of a loss or
// fills a gap. more tells that more of the same message follow, and nothing before them is missing.
func (ch *channel) oweAck(now time.Duration, urgent, more bool) {
	b := ch.peer.b
	if b.cfg.ReplyAcks {
		return
	}
	most := uint16(ackEvery)
	if more && ch.peer.rtt.smoothed >= shortest {
		most = ackSeldom
	}
	if ch.unacked++; ch.unacked >= most || urgent {
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
	n := 0
	for seq := ol.base; seq != ack; seq++ {
		if p := ol.find(seq); p != nil {
			ch.ack(now, ol, p)
			n++
		}
	}
	ch.progress(now, n)
}

// parseSelective checks the words of an acknowledgement and returns them.
func parseSelective(d []byte) (words [lanes][]byte, ok bool) {
	if len(d) < ackHeader {
		return words, false
	}
	rest := d[ackHeader:]
	for l := range lanes {
		n := int(binary.LittleEndian.Uint16(d[2*l:]))
		if n > mostWords || n*ackWord > len(rest) {
			return words, false
		}
		words[l], rest = rest[:n*ackWord], rest[n*ackWord:]
	}
	return words, len(rest) == 0
}

// selected settles the packets of a lane that words of the bitmap mark, beyond a cumulative
// acknowledgement.
func (ch *channel) selected(now time.Duration, l lane, ack uint32, words []byte) {
	ol := &ch.out[l]
	n := 0
	for ; len(words) > 0; words = words[ackWord:] {
		at := uint32(binary.LittleEndian.Uint16(words[8:])) % bitmapWords
		first := ack&^63 + 64*((at-ack/64)%bitmapWords)
		for w := binary.LittleEndian.Uint64(words); w != 0; w &= w - 1 {
			seq := first + uint32(bits.TrailingZeros64(w))
			if before(seq, ack) { // in the word of ack, and so a whole bitmap later
				seq += maxWindow
			}
			if p := ol.find(seq); p != nil {
				ch.ack(now, ol, p)
				n++
			}
		}
	}
	if n > 0 {
		ch.progress(now, n)
	}
}

// ack settles a packet that the peer has.
func (ch *channel) ack(now time.Duration, ol *outLane, p *packet) {
	b, pr := ch.peer.b, ch.peer
	size := p.size()
	if size > MinDatagram {
		pr.notePassed(size)
	}
	if p.state == missing || p.again && before(pr.echoed, stampOf(p.sent)) {
		pr.premature(now) // nothing sent as late as the copy had arrived: the original did
	}
	if pr.path != nil {
		pr.path.acked(now, p, size)
	}
	b.leave(ol, p)
	if k := p.bulk; k != nil {
		if k.left--; k.left == 0 {
			b.endBulk(k)
		}
	}
	b.free(p)
}

// progress makes use of the news that n packets have been settled.
func (ch *channel) progress(now time.Duration, n int) {
	pr := ch.peer
	pr.backoff = 0
	ch.probes = 0
	if pr.path != nil {
		pr.path.update(now, pr)
	}
}
