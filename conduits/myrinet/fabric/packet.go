package fabric

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Packet is what a host sends: the bytes on the wire without the CRC byte that ends them. Both parts belong to the
// fabric, and to whoever receives them, from Inject on: nobody writes to them any more.
type Packet struct {
	Head []byte // route bytes, type, and what else is not shared
	Body []byte // follows; may be nil
}

// Len returns the length on the wire, with the CRC byte.
func (p Packet) Len() int { return len(p.Head) + len(p.Body) + 1 }

// at returns byte i; it reports false for the CRC byte.
func (p Packet) at(i int) (byte, bool) {
	if i < len(p.Head) {
		return p.Head[i], true
	}
	if i -= len(p.Head); i < len(p.Body) {
		return p.Body[i], true
	}
	return 0, false
}

// Skip returns the packet without its first n bytes, in the same memory.
func (p Packet) Skip(n int) Packet {
	if n <= len(p.Head) {
		return Packet{p.Head[n:], p.Body}
	}
	return Packet{nil, p.Body[min(n-len(p.Head), len(p.Body)):]}
}

// Cut returns the packet without what is behind its first n bytes, in the same memory. A negative n is 0.
func (p Packet) Cut(n int) Packet {
	n = max(n, 0)
	if n <= len(p.Head) {
		return Packet{Head: p.Head[:n]}
	}
	if n -= len(p.Head); n < len(p.Body) {
		p.Body = p.Body[:n]
	}
	return p
}

// First returns the first n bytes, or what there is. They are in the packet's memory if one of its parts has them all.
func (p Packet) First(n int) []byte {
	switch {
	case len(p.Head) >= n || len(p.Body) == 0:
		return p.Head[:min(n, len(p.Head))]
	case len(p.Head) == 0:
		return p.Body[:min(n, len(p.Body))]
	}
	p = p.Cut(n)
	return append(append(make([]byte, 0, p.Len()), p.Head...), p.Body...)
}

// Bytes returns all bytes without the CRC byte, as First does.
func (p Packet) Bytes() []byte { return p.First(len(p.Head) + len(p.Body)) }

// typeSize is what the type of a packet has: two bytes, and two of a subtype.
const typeSize = 4

// PacketType returns the type of a packet that has come to a NIC, of whose bytes the first ones are b: two of the four
// bytes behind the route. It reports false if there is none, because the packet is too short or has bytes of a route left.
func PacketType(b []byte) (uint16, bool) {
	if len(b) < typeSize || IsRoute(b[0]) {
		return 0, false
	}
	return uint16(b[0])<<8 | uint16(b[1]), true
}

// IsRoute tells a byte of a route from the first byte of a type (ANSI/VITA 26).
func IsRoute(b byte) bool { return b&routeFlag != 0 }

// changed returns a copy of the packet of which byte i is another; byte i may be the CRC byte, which is no part of it.
func (p Packet) changed(i int, mask byte) Packet {
	all := append(append(make([]byte, 0, p.Len()), p.Head...), p.Body...) // a copy in any case
	if i < len(all) {
		all[i] ^= mask
	}
	return Packet{Head: all}
}

// routeFlag is the top bit of a byte, which route bytes have and the first byte of a type has not (Myricom, Packet
// Types).
const routeFlag = 0x80

// RouteByte returns the route byte that sends a packet to the output port which is delta ports above the one that it
// came in by; -MaxPorts < delta < MaxPorts.
func RouteByte(delta int) byte { return routeFlag | byte(delta)&(2*MaxPorts-1) }

// RouteDelta returns what RouteByte was given; it reports false for a byte that is no route byte.
func RouteDelta(b byte) (delta int, ok bool) {
	const unused = routeFlag ^ 0xff ^ (2*MaxPorts - 1)
	if b&routeFlag == 0 || b&unused != 0 {
		return 0, false
	}
	delta = int(b & (2*MaxPorts - 1))
	if delta >= MaxPorts {
		delta -= 2 * MaxPorts
	}
	return delta, true
}

// Verdict is what a port says of a packet that has ended.
type Verdict uint8

// Verdicts. Hardware knows one bit, that the CRC byte is not what it should be; the others are for counters.
const (
	Good      Verdict = iota
	Corrupt           // the CRC is wrong: a byte was changed on the way
	Truncated         // the CRC is wrong: the end is missing
)

var verdicts = [...]string{"good", "corrupt", "truncated"}

// String returns the verdict in a word.
func (v Verdict) String() string { return verdicts[v] }

// worm is a packet in one slack buffer, or on its way there.
type worm struct {
	next       *worm // behind it in the buffer, or in the list of records that are free
	start, end int64 // bytes of the channel
	verdict    Verdict
	ghost      bool // noise, which the end of the cable absorbs
	state      wormState
	looked     bool       // out and fault say where it goes at the switch that it comes to
	out        *channel   // nil: nowhere
	fault      *uint64    // what counts that
	decision   vtime.Time // how long the switch takes to find out
	packet     Packet     // as it arrives: without the route bytes consumed before
}

type wormState uint8

const (
	coming  wormState = iota // until its head has come, and the switch has looked at it
	waiting                  // for its output, or for the host
	passing                  // being drained
)

func (w *worm) len() int { return int(w.end - w.start) }
