package link_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
)

// network is hosts on a chain of switches, two on each, with ports and rings between all of them.
type network struct {
	topology *fabric.Topology
	memory   [][][]byte // of the ring from each host to each
	ports    []*link.Port
}

// chain returns switches in a row with a number of hosts each. A switch has the next one on port 0 and the one before on port 1.
func chain(switches, each int) *fabric.Topology {
	t := new(fabric.Topology)
	for s := range switches {
		t.AddSwitch(fmt.Sprintf("s%d", s), make([]fabric.Kind, 2+each)...)
		for i := range each {
			t.Connect(fabric.HostEnd(t.AddHost(fmt.Sprintf("h%d", s*each+i))), fabric.SwitchEnd(s, 2+i), 100)
		}
		if s > 0 {
			t.Connect(fabric.SwitchEnd(s-1, 0), fabric.SwitchEnd(s, 1), 100)
		}
	}
	return t
}

// route returns the route bytes from a host of a chain to another, or to itself.
func route(each, from, to int) (bytes []byte) {
	in := 2 + from%each
	for at := from / each; at != to/each; {
		out, next := 0, at+1
		if to/each < at {
			out, next = 1, at-1
		}
		bytes = append(bytes, fabric.RouteByte(out-in))
		at, in = next, 1-out
	}
	return append(bytes, fabric.RouteByte(2+to%each-in))
}

const (
	perSwitch = 2
	mtu       = 600
)

// newNetwork returns the hosts of a chain, with rings of a size.
func newNetwork(t testing.TB, switches, data int, change func(*link.Config)) *network {
	t.Helper()
	n := &network{topology: chain(switches, perSwitch)}
	hosts := len(n.topology.Hosts)
	configs := make([]link.Config, hosts)
	for h := range configs {
		configs[h] = link.Config{Topology: n.topology, Host: h, MTU: mtu, In: make([]*link.Reader, hosts), Out: make([]*link.Writer, hosts)}
	}
	n.memory = make([][][]byte, hosts)
	for from := range hosts {
		for to := range hosts {
			mem := memory(t, data)
			n.memory[from] = append(n.memory[from], mem)
			configs[from].Out[to], configs[to].In[from] = link.Producer(mem), link.Consumer(mem)
		}
	}
	for _, c := range configs {
		if change != nil {
			change(&c)
		}
		p, err := link.New(c)
		if err != nil {
			t.Fatal(err)
		}
		n.ports = append(n.ports, p)
	}
	return n
}

// card is a NIC that accepts and discards as it is told, and sends what its queue has.
type card struct {
	port    *link.Port
	queue   []fabric.Packet
	gone    int
	waits   bool            // it neither accepts nor discards
	arrival *fabric.Arrival // for which it has not
	head    func(a *fabric.Arrival)
	first   func(a *fabric.Arrival, n int)
	tail    func(p fabric.Packet, v fabric.Verdict)
}

// plug attaches a card to a port.
func plug(p *link.Port) *card {
	c := &card{port: p}
	p.Attach(c)
	return c
}

// send sends a packet, at once or when the port is idle.
func (c *card) send(p fabric.Packet) {
	if len(c.queue) > 0 || !c.port.Idle() {
		c.queue = append(c.queue, p)
		return
	}
	c.port.Inject(p)
}

func (c *card) Head(a *fabric.Arrival) {
	switch {
	case c.waits:
		c.arrival = a
	case c.head != nil:
		c.head(a)
	default:
		a.Accept(0)
	}
}

func (c *card) Received(a *fabric.Arrival, n int) { c.first(a, n) }

func (c *card) Tail(a *fabric.Arrival) {
	if c.tail != nil {
		c.tail(a.Packet(), a.Verdict())
	}
	c.port.Free(a.Packet())
}

func (c *card) Sent(*fabric.Sending, int) {}

func (c *card) Gone(*fabric.Sending) {
	c.gone++
	if len(c.queue) > 0 && c.port.Idle() {
		p := c.queue[0]
		c.queue = c.queue[1:]
		c.port.Inject(p)
	}
}

func (c *card) Reset(*fabric.Port) {}

// numbered returns a packet of a sender along a route, whose bytes are those of number i.
func numbered(route []byte, from, i, size int) fabric.Packet {
	body := make([]byte, 8+size)
	binary.LittleEndian.PutUint32(body, uint32(from))
	binary.LittleEndian.PutUint32(body[4:], uint32(i))
	fill(body[8:], i+from)
	return fabric.Packet{Head: route, Body: body}
}

// number checks the bytes of such a packet, and returns its sender and number.
func number(t *testing.T, p fabric.Packet) (from, i int) {
	t.Helper()
	b := p.Bytes()
	from, i = int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	want := make([]byte, len(b)-8)
	fill(want, i+from)
	if !bytes.Equal(b[8:], want) {
		t.Errorf("packet %d of host %d has come with other bytes", i, from)
	}
	return from, i
}

// poll calls a port's Poll.
func poll(t testing.TB, p *link.Port) int {
	t.Helper()
	n, err := p.Poll()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAllToAll has all hosts, each a goroutine, send packets to all, themselves included, through rings that are full most of the time. All come, with their bytes, those of
// each pair in order.
func TestAllToAll(t *testing.T) {
	t.Parallel()
	const switches, each = 3, 200
	n := newNetwork(t, switches, 2048, nil)
	hosts := len(n.ports)
	var left atomic.Int64
	left.Store(int64(hosts * hosts * each))
	var done sync.WaitGroup
	for h, port := range n.ports {
		done.Go(func() {
			c := plug(port)
			next := make([]int, hosts)
			c.tail = func(p fabric.Packet, v fabric.Verdict) {
				from, i := number(t, p)
				if v != fabric.Good || i != next[from] {
					t.Errorf("host %d: packet %d of host %d is %v, want number %d", h, i, from, v, next[from])
				}
				next[from] = i + 1
				left.Add(-1)
			}
			rnd := rand.New(rand.NewPCG(1, uint64(h)))
			for sent := 0; left.Load() > 0; {
				if sent < hosts*each && port.Idle() {
					to := (h + sent) % hosts
					c.send(numbered(route(perSwitch, h, to), h, sent/hosts, rnd.IntN(mtu-20)))
					sent++
				}
				if ready := port.Ready(); (poll(t, port) > 0) != ready && ready {
					t.Errorf("host %d: Ready was true, and Poll has done nothing", h)
				}
				if !port.Ready() {
					yield()
				}
			}
		})
	}
	done.Wait()
	var sum link.Counts
	for _, p := range n.ports {
		c := p.Counts()
		sum.Sent += c.Sent
		sum.Deposited += c.Deposited
		sum.Received += c.Received
		sum.Delivered += c.Delivered
		sum.Hops += c.Hops
		sum.Full += c.Full
	}
	hops := 0
	for from := range hosts {
		for to := range hosts {
			hops += each * len(route(perSwitch, from, to))
		}
	}
	all := uint64(hosts * hosts * each)
	if full := sum.Full; full == 0 || sum != (link.Counts{Sent: all, Deposited: all, Received: all, Delivered: all, Hops: uint64(hops), Full: full}) {
		t.Errorf("all ports together have %+v; want %d packets that came through %d switches, and some that met a full ring", sum, all, hops)
	}
}
