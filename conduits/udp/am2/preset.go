package am2

import "time"

// HPAM returns the preset after Hewlett-Packard Active Messages (Martin, "HPAM: an active
// message layer for a network of HP workstations", 1994): 4 request and 4 reply buffers for
// each partner, one message per packet, the reply is the acknowledgement, and each request
// has a timer. The program's key is the tag.
func HPAM() Config {
	c := Defaults()
	c.ReplyAcks = true
	c.Depth, c.Window = 4, 4
	c.Datagram, c.Pack = 1472, 1472
	c.MaxMedium, c.MaxBulk = c.Datagram-MessageHead, c.Datagram-MessageHead
	return c
}

// Under ReplyAcks a reply has the sequence number of its request. So both sides know what
// belongs together, without any acknowledgement: a request's buffer is free when the reply has
// come, and a reply's when a later request tells that all up to its own are settled. Only
// requests have timers. One that comes again, because its reply was lost, is replied to again
// from the reply buffer; its handler does not run a second time.

// replied settles the request to which a reply has come.
func (ch *channel) replied(seq uint32) {
	ol := &ch.out[requests]
	p := ol.find(seq)
	if p == nil {
		return
	}
	b, count := ch.peer.b, p.count
	ch.peer.backoff = 0
	b.leave(ol, p)
	b.free(p)
	ch.credit(uint32(count))
}

// freeReplies frees the reply buffers of requests below lowest, all of which are settled.
func (ch *channel) freeReplies(lowest uint32) {
	b, ol := ch.peer.b, &ch.out[replies]
	if !before(ol.base, lowest) {
		return
	}
	for i := range ol.ring {
		if p := ol.ring[i]; p != nil && before(p.seq, lowest) {
			b.kept--
			b.leave(ol, p)
			b.free(p)
		}
	}
	ol.base = lowest
	if before(ol.seq, lowest) {
		ol.seq = lowest
	}
}

// replyAgain sends the reply again to a request that has come again. If its handler has not
// run yet, an acknowledgement tells that the request is here.
func (ch *channel) replyAgain(now time.Duration, l lane, seq uint32) {
	ol := &ch.out[replies]
	switch p := ol.find(seq); {
	case l == replies || before(seq, ol.base):
	case p == nil:
		ch.wantAck()
	case p.state == flying:
		ol.lose(p)
	}
}

// replyNothing sends an empty reply, because the handler of the request has not replied.
func (ch *channel) replyNothing(seq uint32) {
	b := ch.peer.b
	p := b.newLarge(ch, replies)
	b.serving = serving{ch, seq}
	ch.queue(b.clock(), p)
	b.serving = serving{}
	b.flush()
}
