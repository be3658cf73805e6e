package routing

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Hosts are ideal hosts at all ports of a fabric, for what is to be seen of the network alone: their NICs take no
// time but for packets in transit, if SetTransit says so. They take in whatever comes, and send packets in transit on
// before their own, also while these arrive, with as many buffers as that takes.
type Hosts struct {
	f       *fabric.Fabric
	table   *Table
	hosts   []host
	heads   []uint32 // by sender and receiver: where in text it is what comes before the body of a packet; 0: nothing has been sent there
	text    []byte   // heads, each behind its length
	head    []byte   // memory to put one together in
	body    []byte
	delay   vtime.Time                          // of packets in transit
	observe func(from, to int, sent vtime.Time) // nil: nobody asks
	bodies  [][]byte                            // with stamps, that are free
	greedy  bool
	arrived uint64
	most    int // packets in transit at a host at once
}

// host is one of them.
type host struct {
	*Hosts
	number int
	port   *fabric.Port
	queue  fifo.Queue[fabric.Packet] // of its own
	reach  int                       // how many others it has routes to
	others []int32                   // those, unless they are all
	chance *rand.Rand

	transit fifo.Queue[transit]
	coming  *fabric.Arrival // the last packet in transit, which is arriving and has not been sent on; nil: none
	free    vtime.Time      // when the NIC has dealt with all packets in transit
}

// transit is a packet that is to be sent on.
type transit struct {
	packet fabric.Packet
	ready  vtime.Time // from when on it can be
	bad    bool       // it has come with a wrong CRC, before it was sent on: it is not
}

// stampSize is the length of a stamp, with which a body begins if somebody observes arrivals: when the packet was
// sent, and by whom.
const stampSize = 12

// The first byte of a packet behind its route: it is for this host, or for another one, of which the rest follows.
const (
	forHere  = 0
	forOther = 1
)

// NewHosts attaches hosts that send packets of size bytes along the routes of a table, which is of the fabric's
// topology.
func NewHosts(f *fabric.Fabric, t *Table, size int) *Hosts {
	topo := f.Topology()
	n := &Hosts{f: f, table: t, hosts: make([]host, len(topo.Hosts)), body: make([]byte, size), heads: make([]uint32, len(topo.Hosts)*len(topo.Hosts)), text: make([]byte, 1)}
	for from, name := range topo.Hosts {
		n.hosts[from] = host{Hosts: n, number: from, port: f.Port(from), chance: f.Loop().Rand("myrinet/routing: traffic of " + name)}
		n.hosts[from].port.Attach(&n.hosts[from])
		var others []int32
		for to := range topo.Hosts {
			if t.Route(from, to) != nil {
				others = append(others, int32(to))
			}
		}
		if n.hosts[from].reach = len(others); len(others) < len(topo.Hosts)-1 {
			n.hosts[from].others = others
		}
	}
	return n
}

// appendHead appends what is before the body of a packet.
func (t *Table) appendHead(b []byte, r Route) []byte {
	for i, leg := range r {
		if i > 0 {
			b = append(b, forOther)
		}
		b = append(b, t.Bytes(leg)...)
	}
	return append(b, forHere)
}

// Fabric returns the fabric.
func (n *Hosts) Fabric() *fabric.Fabric { return n.f }

// Arrived returns how many packets have come to the host that they were for, with a good CRC.
func (n *Hosts) Arrived() uint64 { return n.arrived }

// SetTransit sets how long a NIC deals with a packet in transit from the arrival of its first byte on, until it can be
// sent on. A NIC deals with one at a time. It is 0 unless it is set, and to be set before any packet is sent. SetTransit
// panics if d is negative.
func (n *Hosts) SetTransit(d vtime.Time) {
	if d < 0 {
		panic(fmt.Sprintf("routing: a NIC is to deal with a packet in transit for %v; the time must be 0 or more", d))
	}
	n.delay = d
}

// Observe has f called, in an event of the loop, for every packet that comes to the host that it was for, with a good
// CRC; sent is when Send was called, or when the packet left a host that Saturate drives. It is to be called before any
// packet is sent. Packets must have room for a stamp of 12 bytes.
func (n *Hosts) Observe(f func(from, to int, sent vtime.Time)) {
	if len(n.body) < stampSize {
		panic(fmt.Sprintf("routing: packets of %d bytes are observed; they need %d for a stamp", len(n.body), stampSize))
	}
	n.observe = f
}

// MostTransit returns how many packets in transit a host has had at once, at most: what arrives, and has not been sent on
// yet, is one of them.
func (n *Hosts) MostTransit() int { return n.most }

// Send sends a packet from one host to another when those before it have left. If there is no route, there is no
// packet.
func (n *Hosts) Send(from, to int) {
	if n.table.Route(from, to) != nil {
		h := &n.hosts[from]
		h.queue.Push(n.packet(from, to))
		h.next()
	}
}

// packet returns a packet between hosts with a route.
func (n *Hosts) packet(from, to int) fabric.Packet {
	at := &n.heads[from*len(n.hosts)+to]
	if *at == 0 {
		*at = uint32(len(n.text))
		n.head = n.table.appendHead(n.head[:0], n.table.Route(from, to))
		n.text = append(binary.AppendUvarint(n.text, uint64(len(n.head))), n.head...)
	}
	length, size := binary.Uvarint(n.text[*at:])
	start := int(*at) + size
	end := start + int(length)
	p := fabric.Packet{Head: n.text[start:end:end], Body: n.body}
	if n.observe != nil {
		p.Body = n.stamped(from)
	}
	return p
}

func (n *Hosts) stamped(from int) (b []byte) {
	if last := len(n.bodies) - 1; last >= 0 {
		b, n.bodies = n.bodies[last], n.bodies[:last]
	} else {
		b = make([]byte, len(n.body))
	}
	binary.LittleEndian.PutUint64(b, uint64(n.f.Loop().Now()))
	binary.LittleEndian.PutUint32(b[8:], uint32(from))
	return b
}

// deliver counts a packet that has come to the host that it was for.
func (n *Hosts) deliver(to int, p fabric.Packet) {
	n.arrived++
	if n.observe == nil {
		return
	}
	sent, from := binary.LittleEndian.Uint64(p.Body), binary.LittleEndian.Uint32(p.Body[8:])
	n.bodies = append(n.bodies, p.Body)
	n.observe(int(from), to, vtime.Time(sent))
}

// Saturate has each host send a packet to a random one of those that it has routes to whenever it has nothing else to
// send.
func (n *Hosts) Saturate() {
	n.greedy = true
	for i := range n.hosts {
		n.hosts[i].next()
	}
}

// next sends the next packet if the port is idle: one in transit, if the NIC is through with it, before its own.
func (h *host) next() {
	if !h.port.Idle() || h.onward() {
		return
	}
	p, ok := h.queue.Pop()
	if !ok {
		if !h.greedy || h.reach == 0 {
			return
		}
		p = h.packet(h.number, h.other(h.chance.IntN(h.reach)))
	}
	h.port.Inject(p)
}

// other returns the i-th of those that the host has routes to.
func (h *host) other(i int) int {
	switch {
	case h.others != nil:
		return int(h.others[i])
	case i >= h.number:
		return i + 1
	}
	return i
}

// onward sends a packet in transit on through the port, which is idle, and reports whether there was one.
func (h *host) onward() bool {
	for h.transit.Len() > 0 && h.transit.At(0).ready <= h.f.Loop().Now() {
		if a := h.coming; a != nil && h.transit.Len() == 1 {
			if a.Len() <= 1 { // it has been cut off behind the byte that says so
				return false
			}
			h.coming = nil
			h.transit.Drop()
			h.port.Forward(a, 1)
			return true
		}
		if t, _ := h.transit.Pop(); !t.bad {
			h.port.Inject(t.packet)
			return true
		}
	}
	return false
}

// Fire is an event: the NIC is through with a packet in transit.
func (h *host) Fire(_, _ uint64) { h.next() }

// Head is called by the port: a packet is coming.
func (h *host) Head(a *fabric.Arrival) {
	a.Accept(0)
	if p := a.Packet(); len(p.Head) > 0 && p.Head[0] == forOther {
		a.Watch(1)
	}
}

// Received is called by the port: the first byte of a packet in transit is in.
func (h *host) Received(a *fabric.Arrival, _ int) {
	if a.Len() <= 1 { // it was cut off behind that byte
		return
	}
	p := a.Packet()
	now := h.f.Loop().Now()
	h.free = max(h.free, now) + h.delay
	h.transit.Push(transit{packet: p.Skip(1), ready: h.free})
	h.most = max(h.most, h.transit.Len())
	h.coming = a
	if h.free == now {
		h.next()
	} else {
		h.f.Loop().At(h.free, h, 0, 0)
	}
}

// Tail is called by the port: a packet has come.
func (h *host) Tail(a *fabric.Arrival) {
	bad := a.Verdict() != fabric.Good
	switch p := a.Packet(); {
	case h.coming != nil:
		h.coming = nil
		h.transit.At(h.transit.Len() - 1).bad = bad
	case !bad && len(p.Head) > 0 && p.Head[0] == forHere:
		h.deliver(h.number, p)
	}
}

// Gone is called by the port: it is idle.
func (h *host) Gone(*fabric.Sending) { h.next() }

// Sent is not asked for.
func (h *host) Sent(*fabric.Sending, int) {}

// Reset is called by the port: what it held is lost.
func (h *host) Reset(*fabric.Port) {}
