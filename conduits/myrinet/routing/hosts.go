package routing

import (
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Hosts are ideal hosts at all ports of a fabric, for what is to be seen of the network alone: their NICs take no
// time, take in whatever comes, and send packets in transit on at once if nothing else is being sent, with as many
// buffers as that takes.
type Hosts struct {
	f       *fabric.Fabric
	hosts   []host
	heads   [][][]byte // by sender and receiver: what is before the body of a packet
	body    []byte
	greedy  bool
	arrived uint64
}

// host is one of them.
type host struct {
	*Hosts
	port   *fabric.Port
	queue  fifo.Queue[fabric.Packet]
	others [][]byte // heads of packets to those that it has routes to
	onward bool     // the packet that arrives is being sent on already
	chance *rand.Rand
}

// The first byte of a packet behind its route: it is for this host, or for another one, of which the rest follows.
const (
	forHere  = 0
	forOther = 1
)

// NewHosts attaches hosts that send packets of size bytes along the routes of a table, which is of the fabric's
// topology.
func NewHosts(f *fabric.Fabric, t *Table, size int) *Hosts {
	topo := f.Topology()
	n := &Hosts{f: f, hosts: make([]host, len(topo.Hosts)), body: make([]byte, size)}
	for from, name := range topo.Hosts {
		n.hosts[from] = host{Hosts: n, port: f.Port(from), chance: f.Loop().Rand("myrinet/routing: traffic of " + name)}
		n.hosts[from].port.Attach(&n.hosts[from])
		heads := make([][]byte, len(topo.Hosts))
		for to := range heads {
			if r := t.Route(from, to); r != nil {
				heads[to] = t.head(r)
				n.hosts[from].others = append(n.hosts[from].others, heads[to])
			}
		}
		n.heads = append(n.heads, heads)
	}
	return n
}

// head returns what is before the body of a packet.
func (t *Table) head(r Route) (b []byte) {
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

// Send sends a packet from one host to another when those before it have left. If there is no route, there is no
// packet.
func (n *Hosts) Send(from, to int) {
	if head := n.heads[from][to]; head != nil {
		n.hosts[from].put(fabric.Packet{Head: head, Body: n.body})
	}
}

// Saturate has each host send a packet to a random one of those that it has routes to whenever it has nothing else to
// send.
func (n *Hosts) Saturate() {
	n.greedy = true
	for i := range n.hosts {
		n.hosts[i].next()
	}
}

func (h *host) put(p fabric.Packet) {
	h.queue.Push(p)
	h.next()
}

// next sends the next packet if the port is idle.
func (h *host) next() {
	if !h.port.Idle() {
		return
	}
	p, ok := h.queue.Pop()
	if !ok {
		if !h.greedy || len(h.others) == 0 {
			return
		}
		p = fabric.Packet{Head: h.others[h.chance.IntN(len(h.others))], Body: h.body}
	}
	h.port.Inject(p)
}

// Head is called by the port: a packet is coming.
func (h *host) Head(a *fabric.Arrival) {
	h.onward = false
	a.Accept(0)
	a.Watch(1)
}

// Received is called by the port: the first byte is in, which says whose the packet is.
func (h *host) Received(a *fabric.Arrival, _ int) {
	// Of a packet that was cut off there may be no more than that byte.
	if p := a.Packet(); len(p.Head) > 0 && p.Head[0] == forOther && a.Len() > 1 && h.port.Idle() {
		h.onward = true
		h.port.Forward(a, 1)
	}
}

// Tail is called by the port: a packet has come.
func (h *host) Tail(a *fabric.Arrival) {
	switch p := a.Packet(); {
	case h.onward:
	case a.Verdict() != fabric.Good || len(p.Head) == 0:
	case p.Head[0] == forOther:
		h.put(p.Skip(1))
	default:
		h.arrived++
	}
}

// Gone is called by the port: it is idle.
func (h *host) Gone(*fabric.Sending) { h.next() }

// Sent is not asked for.
func (h *host) Sent(*fabric.Sending, int) {}

// Reset is called by the port: what it held is lost.
func (h *host) Reset(*fabric.Port) {}
