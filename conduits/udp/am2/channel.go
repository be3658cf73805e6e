package am2

import "time"

// lane tells requests and replies apart: each direction of a channel has a lane of either, a
// sequence of packets of its own, so that replies and acknowledgements always get through,
// whatever requests do.
type lane uint8

const (
	requests lane = iota
	replies
	lanes
)

// channelKey names a channel among those of a peer: an endpoint of the bundle and one there.
type channelKey struct {
	local, remote       uint16
	localInc, remoteInc uint32
}

// channel is what a local endpoint knows of a remote one with which it has exchanged packets.
type channel struct {
	peer  *peer
	key   channelKey
	ep    *Endpoint // nil if it is not there (yet, or any more)
	index uint32    // in its table
	next  *channel  // of the same peer
	out   [lanes]outLane
	in    [lanes]inLane

	outstanding uint32 // requests reserved or sent, and not known to be handled
	uncommitted uint32 // of them, reserved only
	forgiven    uint32 // requests of an unreachable peer, which it may have handled all the same
	settled     uint32 // requests handled as the peer has told, cumulative
	asked       uint32 // requests sent, cumulative: as many replies may come
	answered    uint32 // replies received, cumulative
	handled     uint32 // requests of the peer that have been handled, cumulative
	told        uint32 // as the peer has been told

	reached time.Duration // when the latest datagram was sent that the peer has told of all up to

	unacked uint16        // packets received since the last packet to the peer
	ackDue  time.Duration // when it must hear of them; 0: nothing to acknowledge
	ackNow  bool          // in Bundle.ackers, and still to be told
	acker   bool          // in Bundle.ackers
	choked  bool          // the peer was told that there is no room

	starved bool          // a request waits for credit
	probes  uint8         // sent without news since
	probeAt time.Duration // when to ask for news; 0: never

	gathers   bool // in Bundle.gathering
	isReady   bool // in the peer's list
	nextReady *channel

	due   time.Duration // not after the earliest timer
	place int           // in Bundle.timers; -1: not there
}

// newChannel makes a channel, or returns nil if there are as many as may be.
func (b *Bundle) newChannel(pr *peer, key channelKey) *channel {
	if int(pr.count) >= b.cfg.Channels {
		return nil
	}
	ch := &channel{peer: pr, key: key, index: NoIndex, reached: -tick, due: Never, place: -1}
	for l := range lanes {
		ch.out[l].room = firstRoom
	}
	if e := b.numbered[key.local]; e != nil && e.incarnation == key.localInc {
		ch.ep = e
		ch.index = e.indexOf(ch.remote())
	}
	b.all = append(b.all, ch)
	pr.add(ch)
	return ch
}

// remote returns the name of the other end.
func (ch *channel) remote() Name {
	return Name{Addr: ch.peer.addr, Number: ch.key.remote, Incarnation: ch.key.remoteInc}
}

// weight returns how many packets go in one turn.
func (ch *channel) weight() int {
	if ch.ep == nil {
		return 1
	}
	return ch.ep.weight
}

// settle notes how many requests the peer has handled, as it has told: more than before.
func (ch *channel) settle(count uint32) {
	d := count - ch.settled
	ch.settled = count
	if d > ch.outstanding+ch.forgiven { // more than were ever asked: not to be believed
		d = ch.outstanding + ch.forgiven
	}
	pardon := min(d, ch.forgiven)
	ch.forgiven -= pardon
	ch.credit(d - pardon)
	ch.probes = 0
}

// credit gives the credit of n requests back.
func (ch *channel) credit(n uint32) {
	if n == 0 {
		return
	}
	ch.outstanding -= n
	ch.starved = false
	ch.peer.b.events++
}

// awaits reports whether news of the peer are needed though no packet is under way: there are
// requests that it has not handled, or packets for which it has no room.
func (ch *channel) awaits() bool { return ch.outstanding > 0 || ch.blocked() }

// blocked reports whether packets wait for room at the peer.
func (ch *channel) blocked() bool {
	ol := &ch.out[requests]
	return ol.lost.head != nil || ol.pending.head != nil
}

// patience returns how long to wait for news before the peer is asked.
func (ch *channel) patience() time.Duration {
	c := &ch.peer.b.cfg
	switch pr := ch.peer; {
	case ch.starved || ch.blocked():
		return pr.rtt.timeout(c, int(ch.probes))
	case pr.tried > 0:
		return min(pr.rtt.timeout(c, pr.tried), c.KeepAlive)
	}
	return c.KeepAlive
}
