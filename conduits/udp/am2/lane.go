package am2

import "time"

// firstRoom is how many packets of requests go to a peer before it has told its room.
const firstRoom = 64

// state says where an outgoing packet is.
type state uint8

const (
	filling state = iota // open: messages are added; or with a reservation that is not committed
	pending              // complete, not sent yet, no sequence number
	flying               // sent and not settled
	missing              // sent and lost
	loose                // without a lane: acknowledgements and the like
)

// packet is an outgoing datagram; its head lies in buf[start:n].
type packet struct {
	id         uint32
	buf        []byte
	start, n   int
	limit      int // what n may become, see extend
	body       []byte
	ch         *channel
	lane       lane
	state      state
	small      bool // of the pool of heads
	fresh      bool // a message was committed since the last Service
	alone      bool // not the open one any more, though with a reservation
	reserved   int  // bytes of the record that is reserved at n; 0: none
	count      int  // messages
	tag        Tag
	bulk       *bulk // of which it is a fragment, or for which it stands in the queue
	seq        uint32
	heard      uint32        // of the peer, when it was sent last
	tries      uint16        // transmissions without a sign of life
	vain       uint16        // transmissions in vain, see Wire.Send
	again      bool          // it was found lost and sent again
	sent       time.Duration // for the last time, or 0; of an open packet, since when it waits
	snapshot                 // of the path, when it was sent last
	prev, next *packet
}

// size returns the bytes of the datagram.
func (p *packet) size() int { return p.n - p.start + len(p.body) }

// list is a list of packets; each is in one at most.
type list struct{ head, tail *packet }

func (l *list) push(p *packet) {
	p.prev, p.next = l.tail, nil
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
}

func (l *list) remove(p *packet) {
	if p.prev == nil {
		l.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
}

// pool is a stack of packets that are free.
type pool struct{ top *packet }

func (o *pool) put(p *packet) { p.next, o.top = o.top, p }

// take removes the one used last, or returns nil.
func (o *pool) take() *packet {
	p := o.top
	if p != nil {
		o.top, p.next = p.next, nil
	}
	return p
}

// outLane is the sending end of a lane.
type outLane struct {
	open    *packet // gathers messages
	pending list    // in order of commitment
	lost    list    // to be sent again
	flight  list    // in order of transmission

	ring []*packet // those with a sequence number, by it: a power of two of places, or none
	base uint32    // all below are settled
	seq  uint32    // of the next packet

	lossAt time.Duration // when flight.head is lost; 0: nothing later is known to have arrived
	probed time.Duration // when the last time-out was
	room   int           // packets from base on that the peer takes; of requests
}

// idle reports whether everything sent is settled.
func (ol *outLane) idle() bool {
	return ol.flight.head == nil && ol.pending.head == nil && ol.lost.head == nil
}

// find returns the unsettled packet with a sequence number, or nil.
func (ol *outLane) find(seq uint32) *packet {
	if len(ol.ring) == 0 {
		return nil
	}
	if p := ol.ring[seq&uint32(len(ol.ring)-1)]; p != nil && p.seq == seq {
		return p
	}
	return nil
}

// enter puts a packet that has got its sequence number into the ring.
func (b *Bundle) enter(ol *outLane, p *packet) {
	if n := int(p.seq-ol.base) + 1; n > len(ol.ring) {
		b.widen(ol, n)
	}
	ol.ring[p.seq&uint32(len(ol.ring)-1)] = p
	if !before(p.seq, ol.seq) {
		ol.seq = p.seq + 1
	}
}

// leastRing is the length of the shortest ring. A lane keeps one of that length when it is idle,
// so that those that carry one packet at a time need not look for one each time.
const leastRing = 4

// widen gives the lane a ring for n sequence numbers.
func (b *Bundle) widen(ol *outLane, n int) {
	class, size := 0, leastRing
	for size < n {
		class, size = class+1, 2*size
	}
	var ring []*packet
	if free := b.rings[class]; len(free) > 0 {
		ring, b.rings[class] = free[len(free)-1], free[:len(free)-1]
	} else {
		ring = make([]*packet, size)
	}
	for _, p := range ol.ring {
		if p != nil {
			ring[p.seq&uint32(size-1)] = p
		}
	}
	b.narrow(ol)
	ol.ring = ring
}

// narrow takes the lane's ring away.
func (b *Bundle) narrow(ol *outLane) {
	if len(ol.ring) == 0 {
		return
	}
	clear(ol.ring)
	class := 0
	for size := leastRing; size < len(ol.ring); size *= 2 {
		class++
	}
	b.rings[class] = append(b.rings[class], ol.ring)
	ol.ring = nil
}

// leave takes a packet that is settled out of the ring, and out of the list it is in.
func (b *Bundle) leave(ol *outLane, p *packet) {
	if p.state == flying {
		ol.land(p)
	} else {
		ol.lost.remove(p)
	}
	ol.ring[p.seq&uint32(len(ol.ring)-1)] = nil
	if b.cfg.ReplyAcks && p.lane == replies {
		return // its requests say what is settled, see freeReplies
	}
	for ol.base != ol.seq && ol.find(ol.base) == nil {
		ol.base++
	}
	if ol.base == ol.seq && len(ol.ring) > leastRing {
		b.narrow(ol)
	}
}

// land takes a packet from those in flight.
func (ol *outLane) land(p *packet) {
	ol.flight.remove(p)
	pr := p.ch.peer
	pr.flight--
	pr.inFlight -= p.size()
}

// lose moves a packet from those in flight to those to be sent again.
func (ol *outLane) lose(p *packet) {
	ol.land(p)
	p.state, p.again = missing, true
	ol.lost.push(p)
}

// within reports whether the peer's window has a place for a sequence number.
func (ol *outLane) within(seq uint32, l lane, c *Config) bool {
	d := seq - ol.base
	return d < uint32(c.Window) && (l == replies || c.ReplyAcks || int(d) < ol.room)
}
