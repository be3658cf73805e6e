package am2

import (
	"net/netip"
	"time"
)

// notice is what Deliver has to tell of messages that could not be delivered.
type notice struct {
	ch     *channel
	packet *packet // with the messages that come back
	bulk   *bulk   // the message that does
	reason Reason  // neither: the peer is given up
}

// Refused tells that the host at an address says that nobody receives there: what is for that
// process comes back at once.
func (b *Bundle) Refused(now time.Duration, addr netip.AddrPort) {
	b.now = max(b.now, now)
	if pr := b.peerAt(addr); pr != nil {
		pr.giveUp(Refused)
	}
}

// refuse answers a packet that is not let in.
func (ch *channel) refuse(now time.Duration, l lane, seq uint32, reason Reason) {
	b := ch.peer.b
	b.stats.RefusedPackets++
	p := b.newSmall(ch, l)
	p.seq, p.n = seq, FixedHead
	flags := uint8(reason)
	if l == replies {
		flags |= flagReply
	}
	ch.sendLoose(now, packReturned, flags, p)
}

// returned takes the news that a packet was refused. The messages in it come back, and bulk
// comes back as a whole.
func (ch *channel) returned(h *header) {
	b, l := ch.peer.b, requests
	if h.flags&flagReply != 0 {
		l = replies
	}
	reason := Reason(h.flags & flagReasonMask)
	if reason != TagMismatch && reason != NoEndpoint {
		b.stats.Malformed++
		return
	}
	if p := ch.out[l].find(h.seq); p != nil {
		ch.giveBack(l, p, reason)
	}
}

// giveBack returns a packet that has a sequence number to its sender.
func (ch *channel) giveBack(l lane, p *packet, reason Reason) {
	if p.bulk != nil {
		ch.abort(p.bulk, reason)
		return
	}
	b := ch.peer.b
	if b.cfg.ReplyAcks && l == replies {
		b.kept--
	}
	b.leave(&ch.out[l], p)
	ch.note(l, p.count, notice{ch: ch, packet: p, reason: reason})
}

// abort takes all that is left of a bulk message out of its lane, and returns it.
func (ch *channel) abort(k *bulk, reason Reason) {
	b, ol := ch.peer.b, &ch.out[k.lane]
	for seq := ol.base; seq != ol.seq; seq++ {
		if p := ol.find(seq); p != nil && p.bulk == k {
			b.leave(ol, p)
			b.free(p)
		}
	}
	if k.next < k.count {
		ol.pending.remove(&k.turn)
	}
	ch.note(k.lane, 1, notice{ch: ch, bulk: k, reason: reason})
}

// note has Deliver give count messages back.
func (ch *channel) note(l lane, count int, n notice) {
	b := ch.peer.b
	if l == requests {
		ch.credit(uint32(count))
	}
	b.returns.Push(n)
	b.events++
}

// giveUp returns all messages for a peer to their senders.
func (pr *peer) giveUp(reason Reason) {
	if pr.b.dirty {
		pr.b.flush() // packets are freed that may be on the wire
	}
	pr.trying, pr.tried, pr.backoff = -1, 0, 0
	pr.path = nil
	for ch := pr.channels; ch != nil; ch = ch.next {
		ch.giveUp(reason)
	}
	for pr.ready != nil {
		pr.popReady()
	}
}

// giveUp returns all messages of a channel, the oldest first, and writes off the requests that
// the peer has taken: their handlers may have run or not.
func (ch *channel) giveUp(reason Reason) {
	awaited := ch.outstanding > ch.uncommitted
	for l := range lanes {
		ol := &ch.out[l]
		for seq, end := ol.base, ol.seq; seq != end; seq++ {
			if ch.peer.b.cfg.ReplyAcks && l == replies {
				break // kept for requests that come again
			}
			if p := ol.find(seq); p != nil {
				awaited = true
				ch.giveBack(l, p, reason)
			}
		}
		for p := ol.pending.head; p != nil; p = ol.pending.head {
			awaited = true
			if p.bulk != nil {
				ch.abort(p.bulk, reason)
				continue
			}
			ol.pending.remove(p)
			ch.note(l, p.count, notice{ch: ch, packet: p, reason: reason})
		}
		if p := ch.release(l); p != nil {
			awaited = true
			ch.note(l, p.count, notice{ch: ch, packet: p, reason: reason})
		}
	}
	taken := ch.outstanding - ch.uncommitted
	ch.forgiven += taken
	ch.credit(taken)
	ch.probeAt, ch.probes = 0, 0
	if awaited {
		ch.note(replies, 0, notice{ch: ch, reason: reason})
	}
}

// giveBack calls the handler for the first notice.
func (b *Bundle) giveBack() {
	n, _ := b.returns.Pop()
	ch := n.ch
	m := &b.message
	switch {
	case n.packet != nil:
		b.giveBackAll(ch, n.packet, n.reason)
		b.free(n.packet)
	case n.bulk != nil:
		k := n.bulk
		if ch.ep != nil {
			*m = Message{
				Endpoint: ch.ep, Index: ch.index, Reply: k.lane == replies,
				Header: k.header, Kind: k.kind, NArgs: k.nargs, Args: &k.args,
				Len: len(k.payload), Offset: k.offset, Data: k.payload, ch: ch,
			}
			b.stats.Returned++
			ch.ep.handler.Returned(m, n.reason)
		}
		b.endBulk(k)
	case ch.ep != nil:
		*m = Message{Endpoint: ch.ep, Index: ch.index, ch: ch}
		ch.ep.handler.Lost(m, n.reason)
	}
}

// giveBackAll calls the handler for all messages of a packet.
func (b *Bundle) giveBackAll(ch *channel, p *packet, reason Reason) {
	m := &b.message
	for rest := p.buf[p.start+FixedHead : p.n]; len(rest) > 0 && ch.ep != nil; {
		size, err := parseRecord(m, rest)
		if err != nil {
			panic("am2: a packet of this bundle holds " + err.Error())
		}
		m.Endpoint, m.Index, m.Reply, m.ch = ch.ep, ch.index, p.lane == replies, ch
		b.stats.Returned++
		ch.ep.handler.Returned(m, reason)
		rest = rest[size:]
	}
}
