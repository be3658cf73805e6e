package am2

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Incarnations returns those of the endpoints that a datagram comes from and goes to. Where all
// endpoints of a process have one incarnation, it tells the process.
func Incarnations(head []byte) (source, dest uint32) {
	return binary.LittleEndian.Uint32(head[atSourceInc:]), binary.LittleEndian.Uint32(head[atDestInc:])
}

// PutIncarnations writes them to a datagram of the driver, which has FixedHead bytes.
func PutIncarnations(head []byte, source, dest uint32) {
	binary.LittleEndian.PutUint32(head[atSourceInc:], source)
	binary.LittleEndian.PutUint32(head[atDestInc:], dest)
}

// Ended tells that no process is at an address (any more) whose endpoints have an incarnation,
// though one with another may be: what is for it comes back at once, what has arrived of it in
// part is dropped, and what is known of the path is learnt anew.
func (b *Bundle) Ended(now time.Duration, addr netip.AddrPort, incarnation uint32, reason Reason) {
	b.now = max(b.now, now)
	pr := b.peerAt(addr)
	if pr == nil {
		return
	}
	if b.dirty {
		b.flush() // packets are freed that may be on the wire
	}
	for ch := pr.channels; ch != nil; ch = ch.next {
		if ch.key.remoteInc != incarnation {
			continue
		}
		ch.giveUp(reason)
		for l := range lanes {
			ch.dropIf(&ch.in[l], func(*assembly) bool { return true })
		}
	}
	// The transmission number counts on: it must not repeat between the two addresses.
	pr.rtt, pr.path, pr.backoff, pr.trying, pr.tried = roundTrip{}, nil, 0, -1, 0
	pr.seen, pr.stamp, pr.seenAt, pr.echoed = 0, 0, 0, 0
}
