package am2

import "time"

// tick is the unit of time stamps in packets: 32 bits of it last for 275 s.
const tick = 64 * time.Nanosecond

// tooLong is the echo delay of a stamp that is of no use any more.
const tooLong = ^uint32(0)

// stampOf returns the stamp of a datagram sent at now. 0 stands for none.
func stampOf(now time.Duration) uint32 { return max(uint32(now/tick), 1) }

// echoDelay returns d in ticks.
func echoDelay(d time.Duration) uint32 { return uint32(min(max(d, 0)/tick, time.Duration(tooLong))) }

// roundTrip estimates the time to a peer and back (RFC 6298, section 2). The samples come
// from echoed stamps, without the time for which the peer kept them, so retransmissions and
// late acknowledgements do not disturb them.
type roundTrip struct {
	smoothed, variation, latest time.Duration // 0: no sample yet
}

// sample adds the round trip of a stamp that came back at now, delay ticks after its arrival, and
// returns it; 0 if it is of no use.
func (r *roundTrip) sample(now time.Duration, stamp, delay uint32) (d time.Duration) {
	if stamp == 0 || delay == tooLong {
		return 0
	}
	ticks := int32(stampOf(now) - stamp - delay)
	if ticks < 0 {
		return 0
	}
	d = max(time.Duration(ticks)*tick, tick)
	r.latest = d
	if r.smoothed == 0 {
		r.smoothed, r.variation = d, d/2
		return d
	}
	r.variation += (max(d-r.smoothed, r.smoothed-d) - r.variation) / 4
	r.smoothed += (d - r.smoothed) / 8
	return d
}

// timeout returns the time-out after backoff doublings: the round trip and a margin for its
// variation, which is half of it at least, because queues fill within one. RFC 6298 would have a
// second at least, since a time-out there is a loss; here it has one packet sent again, and
// nothing else follows from it (RFC 9002, section 6.2).
//
// However much the round trip varies, the time-out leaves time for leastTries before a peer is given
// up, if the round trip does. A single late answer, such as after a network has stood still for seconds, would
// otherwise make time-outs of as many seconds, and one or two losses then the end of the peer.
func (r *roundTrip) timeout(c *Config, backoff int) time.Duration {
	t := c.FirstRTO
	if r.smoothed != 0 {
		t = max(r.smoothed+max(4*r.variation, r.smoothed/2), c.MinRTO) + c.AckDelay
	}
	most := max(c.Unreachable/leastTries, r.smoothed+r.smoothed/2, c.MinRTO) + c.AckDelay
	return min(t<<min(backoff, 16), max(c.MaxRTO, 2*t), most)
}

// sentAt returns when the datagram was sent, rounded down to a tick, whose stamp came back at now,
// delay ticks after its arrival; false if that is too long ago.
func sentAt(now time.Duration, stamp, delay uint32) (at time.Duration, ok bool) {
	ticks := int32(stampOf(now) - stamp - delay)
	if stamp == 0 || delay == tooLong || ticks < 0 {
		return 0, false
	}
	return (now/tick - time.Duration(ticks) - time.Duration(delay)) * tick, true
}
