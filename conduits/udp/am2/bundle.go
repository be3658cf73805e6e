package am2

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Bundle is the endpoints of a process that are served together: everything behind one
// socket. Its methods and those of its endpoints must be called one at a time; see Handler for
// what may be called while a handler runs. Times are on any clock that does not go back, the
// one of Wire.Now.
type Bundle struct {
	cfg  Config
	wire Wire
	now  time.Duration

	endpoints []*Endpoint
	numbered  map[uint16]*Endpoint
	peers     map[netip.AddrPort]*peer
	recent    *peer // the last one looked for
	all       []*channel

	packets []*packet // of the pool of those that messages gather in, by id
	large   pool      // of them, those that are free
	small   pool      // heads
	used    [lanes]int
	bulks   []*bulk // by id
	idle    []*bulk // of them, those that are free
	stages  [lanes][][]byte
	staged  [lanes]int
	rings   [16][][]*packet // free ones of 4, 8, … maxWindow places
	bitmaps []*bitmap       // free ones
	marked  []*gaps         // free ones

	blocks   blocks // for the driver
	compact  blocks // for short packets that wait
	packs    blocks // for longer ones
	mediums  blocks // for Mediums that arrive in fragments
	spare    []*assembly
	arriving [kinds]int // assemblies that are not complete
	waiting  [lanes]int // packets and assemblies that wait for their delivery
	bytes    [lanes]int // of memory that they take
	choked   []*channel // of peers that were told that there is no room

	dirty     bool      // the wire has packets that it may not have sent
	loose     []*packet // whose buffers are free after the next flush
	gathering []*channel
	ackers    []*channel
	busy      []*peer
	timers    timers
	attended  time.Duration // since when Service has been called in time

	turn    int // the endpoint that is served
	quota   int // messages left of its turn
	events  uint64
	inUse   int // packets and bulks
	kept    int // of them, replies of HPAM that may have to be sent again
	returns fifo.Queue[notice]
	message Message
	serving serving
	active  *arrivals // the first of them is being delivered
	placing Message
	stats   Stats
}

// serving is the request whose handler runs.
type serving struct {
	ch  *channel
	seq uint32
}

// Stats counts what happened in a bundle.
type Stats struct {
	Sent            uint64 // datagrams
	Retransmissions uint64 // of them, of packets sent before
	Acks            uint64 // of them, that only acknowledge
	Received        uint64 // datagrams
	Duplicates      uint64 // of them, packets received before
	Malformed       uint64 // of them, not as they should be: the sender is faulty
	Dropped         uint64 // of them, not taken for want of room or of anybody to take them
	Requests        uint64 // delivered
	Replies         uint64 // delivered
	Returned        uint64 // messages
	RefusedPackets  uint64 // packets not let in, for their tag or for want of an endpoint
}

// NewBundle returns a bundle without endpoints that sends by wire.
func NewBundle(cfg Config, wire Wire) (*Bundle, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Bundle{
		cfg: cfg, wire: wire,
		numbered: make(map[uint16]*Endpoint),
		peers:    make(map[netip.AddrPort]*peer),
		blocks:   blocks{size: BlockSize},
		compact:  blocks{size: compactSize},
		packs:    blocks{size: cfg.Pack},
		mediums:  blocks{size: cfg.MaxMedium},
	}, nil
}

// Block returns a block to receive into, with one use, which the driver ends by Release.
func (b *Bundle) Block() *Block { return b.blocks.get() }

// Stats returns what happened so far.
func (b *Bundle) Stats() Stats { return b.stats }

// Backlog returns how many packets and returned messages Deliver would take now: requests not,
// while there is no room for replies to them.
func (b *Bundle) Backlog() int {
	n := b.returns.Len() + b.waiting[replies]
	if b.replyRoom() {
		n += b.waiting[requests]
	}
	return n
}

// Events counts what could end a wait: arrivals, returned messages, credits and memory that
// came back, lent payloads that are free. It never decreases.
func (b *Bundle) Events() uint64 { return b.events }

// Unacknowledged returns how many packets are reserved, gathered, wait to be sent, or are not
// acknowledged. The reply buffers of HPAM, which nothing acknowledges, do not count.
func (b *Bundle) Unacknowledged() int { return b.inUse - b.kept }

// Due returns when a program that polls is to call Service: 0 at once, because something is
// gathered, owed or not flushed; Never if nothing is awaited. It is kept current by all other
// methods.
func (b *Bundle) Due() time.Duration {
	if b.dirty || len(b.gathering) > 0 || len(b.ackers) > 0 || len(b.busy) > 0 {
		return 0
	}
	return b.timers.earliest()
}

// flush has the wire send everything, and frees what was kept for it.
func (b *Bundle) flush() {
	b.wire.Flush()
	b.dirty = false
	for _, p := range b.loose {
		b.small.put(p)
	}
	b.loose = b.loose[:0]
}

// newLarge returns a packet in which messages of a lane gather, from beyond the limit if need
// be.
func (b *Bundle) newLarge(ch *channel, l lane) *packet {
	p := b.large.take()
	if p == nil {
		p = b.moreLarge()
	}
	b.used[l]++
	b.inUse++
	p.ch, p.lane, p.state, p.n = ch, l, filling, FixedHead
	p.limit = MinDatagram
	return p
}

// moreLarge makes one more such packet.
func (b *Bundle) moreLarge() *packet {
	p := &packet{id: uint32(len(b.packets)), buf: make([]byte, b.packSize()+blockSlack)}
	b.packets = append(b.packets, p)
	return p
}

// packSize returns the bytes of a packet in which messages gather.
func (b *Bundle) packSize() int { return min(b.cfg.Pack, b.cfg.Datagram) &^ (unit - 1) }

// newSmall returns a packet for a head.
func (b *Bundle) newSmall(ch *channel, l lane) *packet {
	if b.small.top == nil {
		b.moreSmall()
	}
	p := b.small.take()
	buf := p.buf
	*p = packet{}
	p.buf, p.small, p.ch, p.lane, p.state = buf, true, ch, l, loose
	return p
}

// moreSmall makes some packets for heads at once: as many as windows open to are needed.
func (b *Bundle) moreSmall() {
	const some, size = 16, max(FragmentHead, ackSize)
	packets, memory := make([]packet, some), make([]byte, some*size)
	for i := range packets {
		packets[i].buf = memory[i*size : (i+1)*size : (i+1)*size]
		b.small.put(&packets[i])
	}
}

// free gives a packet back that is in no list.
func (b *Bundle) free(p *packet) {
	id, buf, small, l := p.id, p.buf, p.small, p.lane
	*p = packet{} // in place: a copy of a whole new one would take several times as long
	p.id, p.buf, p.small, p.lane = id, buf, small, l
	b.inUse--
	if small {
		b.small.put(p)
		return
	}
	if b.used[p.lane]--; p.lane == requests {
		b.events++
	}
	b.large.put(p)
}
