package am2

import "fmt"

// Leaks returns what a bundle still holds though nothing is under way.
func Leaks(b *Bundle) error {
	if b.used != [lanes]int{replies: b.kept} || b.staged != [lanes]int{} || b.bytes != [lanes]int{} ||
		b.waiting != [lanes]int{} || b.arriving != [kinds]int{} || b.inUse != b.kept {
		return fmt.Errorf("packets %v, stages %v, %v bytes of %v waiting, %v assemblies, %d in use",
			b.used, b.staged, b.bytes, b.waiting, b.arriving, b.inUse)
	}
	if b.blocks.used != 0 || b.compact.used != 0 || b.packs.used != 0 || b.mediums.used != 0 {
		return fmt.Errorf("blocks in use: %d, %d compact, %d for packets, %d for mediums", b.blocks.used, b.compact.used, b.packs.used, b.mediums.used)
	}
	for _, pr := range b.peers {
		if pr.flight > b.kept || pr.ready != nil {
			return fmt.Errorf("%v: %d packets in flight", pr.addr, pr.flight)
		}
	}
	for _, ch := range b.all {
		for l := range lanes {
			if ch.in[l].have != nil || ch.in[l].asms != nil || len(ch.out[l].ring) > leastRing && b.kept == 0 {
				return fmt.Errorf("channel to %v: lane %d is not empty", ch.remote(), l)
			}
		}
	}
	return nil
}

// Shift moves the sequence numbers and counts of all channels of a bundle at rest by a multiple
// of 64.
func Shift(b *Bundle, by uint32) {
	for _, ch := range b.all {
		for l := range lanes {
			ol := &ch.out[l]
			for _, p := range ol.ring { // replies kept by HPAM
				if p != nil {
					p.seq += by
				}
			}
			ol.base += by
			ol.seq += by
			ch.in[l].next += by
			ch.in[l].high += by
		}
		ch.settled += by
		ch.handled += by
		ch.told += by
		ch.asked += by
		ch.answered += by
	}
}

// MediumBytes returns the memory that Mediums take which arrive, or have arrived, in fragments.
func MediumBytes(b *Bundle) int { return b.mediums.used * b.mediums.size }

// PacketBytes returns the memory that packets take which wait for their delivery.
func PacketBytes(b *Bundle) (n int) {
	for _, p := range []*blocks{&b.blocks, &b.compact, &b.packs} {
		n += p.used * p.size
	}
	return n
}
