package am2

import (
	"net/netip"
	"time"
)

// peer is a remote process: what its endpoints have in common.
type peer struct {
	b      *Bundle
	addr   netip.AddrPort
	number uint64 // transmissions so far

	rtt      roundTrip
	path     *path // nil: nothing is known but rtt, since there was little to send
	flight   int   // packets sent and neither settled nor lost
	inFlight int   // bytes of them

	seen    uint64        // largest transmission number received
	stamp   uint32        // of that datagram
	seenAt  time.Duration // and when it came
	echoed  uint32        // the last of our stamps that came back
	heard   uint32        // datagrams received
	backoff int32         // time-outs since something was acknowledged
	timedAt time.Duration // of the last of them
	trying  time.Duration // since when an answer is awaited; -1: none is
	tried   int           // time-outs and probes since then

	passed   int           // bytes of the longest datagram that was acknowledged lately
	passedAt time.Duration // and when

	channels *channel                // the last one made, and so on
	many     map[channelKey]*channel // the same by key; nil while they are few
	count    int32                   // of them
	recent   *channel                // the last one looked for
	ready    *channel                // has packets that could be sent, and is followed by others
	readyEnd *channel
	busy     bool // in Bundle.busy
}

// peerAt returns the peer at an address, or nil.
func (b *Bundle) peerAt(addr netip.AddrPort) *peer {
	if b.recent != nil && b.recent.addr == addr {
		return b.recent
	}
	pr := b.peers[addr]
	if pr != nil {
		b.recent = pr
	}
	return pr
}

// newPeer makes a peer, or returns nil if there are as many as may be.
func (b *Bundle) newPeer(addr netip.AddrPort) *peer {
	if len(b.peers) >= b.cfg.Peers {
		return nil
	}
	pr := &peer{b: b, addr: addr, trying: -1}
	b.peers[addr] = pr
	return pr
}

// few channels are looked for one by one.
const few = 8

// channel returns the channel with a key, or nil.
func (pr *peer) channel(key channelKey) *channel {
	if ch := pr.recent; ch != nil && ch.key == key {
		return ch
	}
	ch := pr.channels
	if pr.many != nil {
		ch = pr.many[key]
	} else {
		for ch != nil && ch.key != key {
			ch = ch.next
		}
	}
	if ch != nil {
		pr.recent = ch
	}
	return ch
}

// add enters a channel.
func (pr *peer) add(ch *channel) {
	ch.next, pr.channels = pr.channels, ch
	pr.count++
	switch {
	case pr.count == few+1:
		pr.many = make(map[channelKey]*channel)
		for c := pr.channels; c != nil; c = c.next {
			pr.many[c.key] = c
		}
	case pr.many != nil:
		pr.many[ch.key] = ch
	}
}

// hear takes what every datagram says of the path.
func (pr *peer) hear(now time.Duration, h *header) (newest bool) {
	pr.heard++
	pr.trying, pr.tried = -1, 0
	if h.echo != 0 && h.echo != pr.echoed {
		pr.echoed = h.echo
		if d := pr.rtt.sample(now, h.echo, h.echoDelay); pr.path != nil && d > 0 {
			pr.path.sampleRTT(now, d)
		}
	}
	if h.number <= pr.seen {
		return false
	}
	pr.seen, pr.stamp, pr.seenAt = h.number, h.stamp, now
	return true
}

// passedFor is how long the longest datagram that a peer has acknowledged is remembered.
const passedFor = time.Second

// notePassed notes that the peer has acknowledged a datagram.
func (pr *peer) notePassed(size int) {
	if now := pr.b.now; size >= pr.passed || now-pr.passedAt > passedFor {
		pr.passed, pr.passedAt = size, now
	}
}

// open reports whether the path lets one more packet of a lane out. One packet of replies always
// may go, since they must not wait for requests. HPAM knows no such window: few buffers are
// enough of a limit. Nor does Config.Unpaced.
func (pr *peer) open(now time.Duration, ol *outLane, l lane) bool {
	switch pa := pr.path; {
	case pr.b.cfg.ReplyAcks || pr.b.cfg.Unpaced || l == replies && ol.flight.head == nil:
		return true
	case pa == nil:
		return pr.flight < firstPackets
	default:
		return pr.inFlight < pa.window && pa.next <= now
	}
}

// paced returns when packets may go that wait for nothing but their time, or Never. They go some
// together.
func (pr *peer) paced() time.Duration {
	if pa := pr.path; pa != nil && pr.ready != nil && pr.inFlight < pa.window {
		return pa.next + quantum
	}
	return Never
}

// makeReady puts a channel last among those that have packets to be sent.
func (pr *peer) makeReady(ch *channel) {
	if ch.isReady {
		return
	}
	ch.isReady, ch.nextReady = true, nil
	if pr.readyEnd == nil {
		pr.ready = ch
	} else {
		pr.readyEnd.nextReady = ch
	}
	pr.readyEnd = ch
}

// wake has Service send what it can of a channel and the others that are ready.
func (pr *peer) wake(ch *channel) {
	if ch.waits() {
		if _, p := ch.sendable(); p != nil {
			pr.makeReady(ch)
		}
	}
	if pr.ready != nil && !pr.busy {
		pr.busy = true
		pr.b.busy = append(pr.b.busy, pr)
	}
}

// popReady takes the first ready channel.
func (pr *peer) popReady() *channel {
	ch := pr.ready
	if pr.ready = ch.nextReady; pr.ready == nil {
		pr.readyEnd = nil
	}
	ch.isReady, ch.nextReady = false, nil
	return ch
}

// pump sends packets of the ready channels, weight by weight, until none can be sent. What the
// congestion window holds up stays ready.
func (pr *peer) pump(now time.Duration) {
	for pr.ready != nil {
		ch := pr.ready
		for range ch.weight() {
			l, p := ch.sendable()
			if p == nil {
				break
			}
			ol := &ch.out[l]
			if !pr.open(now, ol, l) {
				at := pr.paced()
				if pr.path != nil {
					pr.path.held = at != Never
				}
				ch.schedule(at)
				return
			}
			ch.sendNext(now, l, p)
		}
		pr.popReady()
		if _, p := ch.sendable(); p != nil {
			pr.makeReady(ch)
		}
	}
	if pr.path != nil {
		pr.path.idle(pr.inFlight)
	}
}
