package am2

import "time"

// patient says by which part of Config.Unreachable Service may be late. If it is later, this
// process was stopped, say, and silence tells nothing of a peer: what it has sent may not have
// been received yet.
const patient = 4

// leastTries is how often a peer was asked in vain at least before it is given up, so that it takes more
// than a few losses in a row. If one of four tries fails, as where 10 % of datagrams are lost and some
// more damaged, so many do in a row once in four billion times.
const leastTries = 16

// Service retransmits, acknowledges, sends what has gathered and what the windows let out now.
// It returns when it is to be called again though nothing is received or committed: Never if
// that is not needed. It calls no handler but may call Completer.Complete.
func (b *Bundle) Service(now time.Duration) (next time.Duration) {
	b.now = max(b.now, now)
	now = b.now
	if now-b.timers.earliest() > b.cfg.Unreachable/patient {
		b.attended = now
	}
	b.release(now)
	for b.timers.earliest() <= now {
		b.timers.pop().expire(now)
	}
	b.reopen()
	for i, pr := range b.busy {
		pr.busy = false
		pr.pump(now)
		b.busy[i] = nil
	}
	b.busy = b.busy[:0]
	b.acknowledge(now)
	b.condense()
	if b.dirty {
		b.flush()
	}
	if next = b.timers.earliest(); len(b.gathering) > 0 {
		next = min(next, now+b.cfg.Gather)
	}
	return next
}

// release sends the open packets: those of replies at once, those of requests if nothing is
// under way any more, nothing was added to them since the last time, or they are old enough.
func (b *Bundle) release(now time.Duration) {
	waiting := b.gathering[:0]
	for _, ch := range b.gathering {
		ch.gathers = false
		for l := range lanes {
			p := ch.out[l].open
			if p == nil || p.count == 0 {
				continue
			}
			if l == requests && p.fresh && !ch.out[l].idle() && (p.sent == 0 || now-p.sent < b.cfg.Gather) {
				p.fresh, ch.gathers = false, true
				if p.sent == 0 {
					p.sent = max(now, 1)
				}
				continue
			}
			ch.queue(now, ch.release(l))
		}
		if ch.gathers {
			waiting = append(waiting, ch)
		}
	}
	clear(b.gathering[len(waiting):])
	b.gathering = waiting
}

// acknowledge sends the acknowledgements that no packet has carried.
func (b *Bundle) acknowledge(now time.Duration) {
	for i, ch := range b.ackers {
		ch.acker = false
		if ch.ackNow {
			ch.sendAck(now)
		}
		b.ackers[i] = nil
	}
	b.ackers = b.ackers[:0]
}

// reopen tells the peers that were told of no room that there is some.
func (b *Bundle) reopen() {
	if len(b.choked) == 0 || 2*b.waiting[requests] > b.cfg.Receive || 2*b.bytes[requests] > b.cfg.ReceiveBytes {
		return
	}
	for i, ch := range b.choked {
		ch.choked = false
		ch.wantAck()
		b.choked[i] = nil
	}
	b.choked = b.choked[:0]
}

// expire does what is due on a channel, and schedules what will be.
func (ch *channel) expire(now time.Duration) {
	pr := ch.peer
	if pr.trying >= 0 && pr.tried >= leastTries && now >= pr.patientUntil() && ch.tries() {
		pr.giveUp(Unreachable)
	}
	if ch.ackDue != 0 && ch.ackDue <= now {
		ch.wantAck()
	}
	for l := range lanes {
		if at := ch.out[l].lossAt; at != 0 && at <= now {
			ch.detect(now, l)
		}
		ch.timeOut(now, l)
	}
	if ch.probeAt != 0 && ch.probeAt <= now {
		ch.probe(now)
	}
	pr.wake(ch)
	ch.schedule(ch.nextDue())
}

// tries reports whether something of the channel needs an answer of the peer.
func (ch *channel) tries() bool {
	return ch.out[requests].flight.head != nil || ch.out[replies].flight.head != nil || ch.awaits()
}

// nextDue returns the earliest time at which something is due.
func (ch *channel) nextDue() time.Duration {
	pr := ch.peer
	due := Never
	if ch.ackDue != 0 && !ch.ackNow {
		due = ch.ackDue
	}
	if ch.probeAt != 0 {
		due = min(due, ch.probeAt)
	}
	for l := range lanes {
		ol := &ch.out[l]
		due = min(due, ch.timesOut(l))
		if ol.lossAt != 0 {
			due = min(due, ol.lossAt)
		}
	}
	if pr.trying >= 0 && pr.tried >= leastTries && ch.tries() {
		due = min(due, pr.patientUntil())
	}
	if at := pr.paced(); pr.ready == ch && at > pr.b.now { // or pump is about to send them
		due = min(due, at)
	}
	return due
}

// patientUntil returns when a peer is given up from which an answer is awaited.
func (pr *peer) patientUntil() time.Duration {
	return max(pr.trying, pr.b.attended) + pr.b.cfg.Unreachable
}

// timesOut returns when the oldest packet of a lane that is under way has waited for too long.
func (ch *channel) timesOut(l lane) time.Duration {
	pr, ol := ch.peer, &ch.out[l]
	if p := ol.flight.head; p != nil && (l == requests || !pr.b.cfg.ReplyAcks) {
		return max(p.sent, ol.probed) + pr.rtt.timeout(&pr.b.cfg, int(pr.backoff))
	}
	return Never
}

// timeOut sends the oldest packet of a lane again if it was not acknowledged in time. Nothing else
// is taken to be lost for that: the answer will tell. So it does no harm if the time-out was
// too short. It also asks the peer for news, since a path may let through what is short only.
func (ch *channel) timeOut(now time.Duration, l lane) {
	pr, ol := ch.peer, &ch.out[l]
	if ch.timesOut(l) > now {
		return
	}
	p := ol.flight.head
	if int(p.tries) > pr.b.cfg.Retries && p.heard == pr.heard {
		pr.giveUp(Unreachable)
		return
	}
	ol.probed = now
	rto := pr.rtt.timeout(&pr.b.cfg, int(pr.backoff))
	if now-pr.timedAt >= rto { // for all channels of the peer once
		pr.timedAt = now
		pr.tried++
		if pr.backoff++; pr.backoff > silentAfter && pr.path != nil && pr.rtt.smoothed != 0 {
			pr.path.silent()
		}
	}
	if pr.b.cfg.ReplyAcks { // no answer tells of others
		for ; p != nil && p.sent+rto <= now; p = ol.flight.head {
			ol.lose(p)
		}
		return
	}
	long := p.size() > MinDatagram
	ol.land(p)
	ch.transmit(now, ol, p) // whatever the window is: what fills it may be lost
	if long {
		ch.ask(now)
	}
}

// reach notes that a datagram has come that tells of all that the peer has had of the channel, and
// finds losses.
func (ch *channel) reach(now time.Duration, h *header) {
	if at, ok := sentAt(now, h.echo, h.echoDelay); ok && at > ch.reached {
		ch.reached = at
	}
	for l := range lanes {
		ch.detect(now, l)
	}
}

// detect finds the packets of a lane that must be lost, because later ones have arrived: so much
// later that they were not just overtaken, or so long ago (RACK: RFC 8985, section 6.2, step 5).
func (ch *channel) detect(now time.Duration, l lane) {
	ol, pr := &ch.out[l], ch.peer
	ol.lossAt = 0
	p := ol.flight.head
	if p == nil || p.sent >= ch.reached || pr.b.cfg.ReplyAcks {
		return
	}
	window, rtt := pr.reordering(), max(pr.rtt.latest, pr.rtt.smoothed)
	for ; p != nil && p.sent < ch.reached; p = ol.flight.head {
		if late := p.sent + rtt + window; p.sent+window > ch.reached && now < late {
			ol.lossAt = late
			ch.schedule(late)
			return
		}
		if pr.path != nil {
			pr.path.lost(now, p.sent, pr.rtt.smoothed, pr.rtt.latest, pr.inFlight)
		}
		ol.lose(p)
	}
}

// expectNews has the peer probed if no news come from it in time.
func (ch *channel) expectNews(now time.Duration) {
	if ch.peer.b.cfg.ReplyAcks {
		return // requests are on their way until they are replied to
	}
	if at := now + ch.patience(); ch.probeAt == 0 || at < ch.probeAt {
		ch.probeAt = at
		ch.schedule(at)
	}
}

// probe asks the peer for news: how many requests it has handled, and what room it has. An
// acknowledgement that tells may have been lost.
func (ch *channel) probe(now time.Duration) {
	ch.probeAt = 0
	if !ch.awaits() {
		return
	}
	pr := ch.peer
	quiet := now-pr.seenAt >= pr.b.cfg.KeepAlive/2
	if ch.out[requests].flight.head == nil && (quiet || ch.starved || ch.blocked()) {
		if pr.trying < 0 {
			pr.trying = now
		}
		ch.ask(now)
		pr.tried++
		ch.probes = min(ch.probes+1, 32)
	}
	ch.expectNews(now)
}

// ask sends a probe.
func (ch *channel) ask(now time.Duration) {
	p := ch.peer.b.newSmall(ch, requests)
	p.n = FixedHead
	ch.sendLoose(now, packProbe, 0, p)
}
