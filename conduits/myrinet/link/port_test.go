package link_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// network is hosts on a chain of switches, three on each, with ports and rings between all of them.
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
	perSwitch = 3
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
	keeps   bool            // it does not give the memory of packets back
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
	if !c.keeps {
		c.port.Free(a.Packet())
	}
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

// TestAllToAll has all hosts, each a goroutine, send packets to all, themselves included, through rings that are full most of the time. A goroutine sleeps
// while its port is not ready. All packets come, with their bytes, those of each pair in order, and nobody sleeps for ever.
func TestAllToAll(t *testing.T) {
	t.Parallel()
	const switches, each = 2, 200
	bells := make([]shm.EventCount, switches*perSwitch)
	n := newNetwork(t, switches, 2048, func(c *link.Config) { c.Ring = func(h int) { bells[h].Notify() } })
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
				if left.Add(-1) == 0 {
					for i := range bells {
						bells[i].Notify()
					}
				}
			}
			rnd := rand.New(rand.NewPCG(1, uint64(h)))
			sent := 0
			sends := func() bool { return sent < hosts*each && port.Idle() }
			for left.Load() > 0 {
				if sends() {
					to := (h + sent) % hosts
					c.send(numbered(route(perSwitch, h, to), h, sent/hosts, rnd.IntN(mtu-20)))
					sent++
				}
				if ready := port.Ready(); poll(t, port) == 0 && ready {
					t.Errorf("host %d: Ready was true, and Poll has done nothing", h)
				}
				if !bells[h].Wait(20*time.Second, func() bool { return left.Load() == 0 || sends() || port.Ready() }) {
					t.Errorf("host %d has slept for 20 s, and %d packets are missing", h, left.Load())
					return
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

// TestBackPressure has a host send to one that takes nothing: the port holds the packet that finds no room, and what is behind it, until there is some.
// Who drives the sender is rung then.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	const packets = 50
	var rung [2]int
	n := newNetwork(t, 1, 2048, func(c *link.Config) { c.Ring = func(h int) { rung[h]++ } })
	a, b := plug(n.ports[0]), plug(n.ports[1])
	for i := range packets {
		a.send(numbered(route(perSwitch, 0, 1), 0, i, 232)) // a frame of 256 bytes with its word
	}
	fit := int(a.port.Counts().Deposited)
	if fit != 7 || a.gone != fit || a.port.Idle() || a.port.Ready() || a.port.Counts().Full != 1 || rung != [2]int{0, fit} {
		t.Fatalf("the ring has taken %d packets, and the port is idle: %v, ready: %v: %+v, bells %v", fit, a.port.Idle(), a.port.Ready(), a.port.Counts(), rung)
	}
	if poll(t, a.port) != 0 || a.gone != fit {
		t.Fatal("a packet has left into a full ring")
	}

	b.waits = true // the port takes one packet out of the ring, and then no more
	if poll(t, b.port) != 1 || b.arrival == nil || b.port.Ready() || poll(t, b.port) != 0 {
		t.Fatal("a NIC that accepts nothing has been given a second packet")
	}
	if rung[0] != 1 || !a.port.Ready() || poll(t, a.port) != 1 || a.gone != fit+1 || a.port.Idle() {
		t.Fatalf("there is room, and the packet has not left, nor is the next one held up: %+v, bells %v", a.port.Counts(), rung)
	}

	var got []int
	b.tail = func(p fabric.Packet, v fabric.Verdict) {
		_, i := number(t, p)
		got = append(got, i)
	}
	b.waits = false
	b.arrival.Accept(0)
	if !b.port.Ready() {
		t.Fatal("a packet that the NIC accepts later is not ready")
	}
	for a.port.Ready() || b.port.Ready() {
		poll(t, a.port)
		poll(t, b.port)
	}
	for i, number := range got {
		if i != number {
			t.Fatalf("packets come in order %v", got)
		}
	}
	if len(got) != packets || a.gone != packets || !a.port.Idle() {
		t.Errorf("%d of %d packets have come, and %d have left", len(got), packets, a.gone)
	}
}

// TestFairness has two senders whose rings are never empty be served by turns.
func TestFairness(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2, 4096, nil)
	got := make([]int, len(n.ports))
	to := plug(n.ports[0])
	to.tail = func(p fabric.Packet, v fabric.Verdict) { from, _ := number(t, p); got[from]++ }
	for range 100 {
		for _, from := range []int{1, 3} {
			for n.ports[from].Idle() {
				n.ports[from].Inject(numbered(route(perSwitch, from, 0), from, 0, 100))
			}
			poll(t, n.ports[from])
		}
		if poll(t, to.port) != 2 {
			t.Fatal("a poll has not taken a packet of each of two senders")
		}
	}
	if got[1] != 100 || got[3] != 100 {
		t.Errorf("of hosts 1 and 3 have come %d and %d packets", got[1], got[3])
	}
	to.waits = true // a packet that the NIC does not take in holds up those of others too
	if poll(t, to.port) != 1 || poll(t, to.port) != 0 {
		t.Error("a NIC has been given a packet while it has not accepted the one before")
	}
	to.waits = false
	to.arrival.Accept(0)
	if before := got[1] + got[3]; poll(t, to.port) != 3 || got[1]+got[3] != before+3 {
		t.Errorf("of hosts 1 and 3 have come %d and %d packets: one is missing", got[1], got[3])
	}
}

// TestInTransit has a NIC send on a packet when its first bytes are in, and again when all of it is, and a third one keep a wrong verdict.
func TestInTransit(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3, 4096, nil)
	middle := plug(n.ports[2])
	middle.head = func(a *fabric.Arrival) {
		a.Accept(0)
		a.Watch(4)
	}
	marks := 0
	middle.first = func(a *fabric.Arrival, n int) {
		if n != 4 || a.Taken() != a.Len() {
			t.Errorf("told of %d bytes, and %d of %d are in", n, a.Taken(), a.Len())
		}
		if marks++; marks == 1 {
			a.Watch(8)
			middle.first = func(a *fabric.Arrival, n int) { middle.port.Forward(a, n-4) }
		}
	}
	end := plug(n.ports[4])
	var got []string
	end.tail = func(p fabric.Packet, v fabric.Verdict) { got = append(got, fmt.Sprintf("%s %v", p.Bytes(), v)) }
	leg := route(perSwitch, 2, 4)
	first := plug(n.ports[0])
	first.send(fabric.Packet{Head: route(perSwitch, 0, 2), Body: append(append([]byte("skip"), leg...), "over"...)})
	poll(t, middle.port)
	for _, v := range []fabric.Verdict{fabric.Corrupt, fabric.Truncated, fabric.Good} {
		middle.port.InjectAs(fabric.Packet{Head: leg, Body: []byte("as")}, v)
	}
	for end.port.Ready() {
		poll(t, end.port)
	}
	end.head = func(a *fabric.Arrival) {
		a.Accept(0)
		a.Watch(a.Len() + 1)
	}
	end.first = func(_ *fabric.Arrival, n int) { t.Errorf("told of %d bytes, which the packet has not", n) }
	middle.send(fabric.Packet{Head: leg, Body: []byte("short")})
	poll(t, end.port)
	want := []string{"over good", "as corrupt", "as truncated", "as good", "short good"}
	if fmt.Sprint(got) != fmt.Sprint(want) || marks != 1 {
		t.Errorf("have come %q, want %q; %d marks", got, want, marks)
	}
	if c := end.port.Counts(); c.BadCRC != 2 || c.Delivered != 3 {
		t.Errorf("%+v", c)
	}
}

// TestDropped has packets dropped that lead nowhere, discarded, or sent to nobody. Their senders are told that they are gone.
func TestDropped(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1, 4096, func(c *link.Config) {
		if c.Host == 0 {
			c.Out[0] = nil
		}
	})
	a, b := plug(n.ports[0]), plug(n.ports[1])
	for _, head := range [][]byte{{}, {0x40}, {fabric.RouteByte(9)}, {fabric.RouteByte(-2)}, route(perSwitch, 0, 0), route(perSwitch, 0, 1)} {
		a.send(fabric.Packet{Head: head})
	}
	b.head = func(a *fabric.Arrival) { a.Discard() }
	poll(t, b.port)
	b.port.Attach(nil)
	a.send(fabric.Packet{Head: route(perSwitch, 0, 1)})
	poll(t, b.port)
	if got, want := a.port.Counts(), (link.Counts{Sent: 7, Hops: 3, Deposited: 2, NoRoute: 2, NoPort: 2, Absorbed: 1}); got != want || a.gone != 7 {
		t.Errorf("the sender has %+v, want %+v; told %d times", got, want, a.gone)
	}
	if got, want := b.port.Counts(), (link.Counts{Received: 2, Discarded: 1, Absorbed: 1}); got != want {
		t.Errorf("the receiver has %+v, want %+v", got, want)
	}
}

// TestErrors has as many packets damaged as was asked for, each cable anew. What comes is good if it is what was sent, and nothing else is.
func TestErrors(t *testing.T) {
	t.Parallel()
	const packets, cables = 8000, 4
	for _, e := range []link.Errors{{Lose: machine.Certain / 50}, {Truncate: machine.Certain / 50}, {Corrupt: machine.Certain / 50}, {machine.Certain / 60, machine.Certain / 40, machine.Certain / 80}} {
		n := newNetwork(t, 3, 4096, func(c *link.Config) { c.Errors, c.Rand = e, rand.New(rand.NewPCG(7, 8)) })
		from, to := plug(n.ports[0]), plug(n.ports[7])
		var good, corrupt, truncated int
		sent := numbered(route(perSwitch, 0, 7), 0, 0, 20)
		to.tail = func(p fabric.Packet, v fabric.Verdict) {
			same := bytes.Equal(p.Bytes(), sent.Body)
			switch v {
			case fabric.Good:
				good++
				if !same {
					t.Fatalf("%x is good, and was sent as %x", p.Bytes(), sent.Body)
				}
			case fabric.Corrupt:
				corrupt++
			case fabric.Truncated:
				truncated++
				if len(p.Bytes()) >= len(sent.Body)+1 || !bytes.HasPrefix(sent.Body, p.Bytes()) && e.Corrupt == 0 {
					t.Fatalf("%x is truncated, and was sent as %x", p.Bytes(), sent.Body)
				}
			}
		}
		for range packets {
			from.send(sent)
			for h := range n.ports { // a route that has been changed leads elsewhere
				for n.ports[h].Ready() {
					poll(t, n.ports[h])
				}
			}
		}
		c := from.port.Counts()
		for what, x := range map[string]struct {
			chance machine.Chance
			got    uint64
		}{"lost": {e.Lose, c.Lost}, "truncated": {e.Truncate, c.Truncated}, "corrupted": {e.Corrupt, c.Corrupted}} {
			want := float64(x.chance) / float64(machine.Certain) * packets * cables
			if got := float64(x.got); x.chance == 0 && got > 0 || x.chance > 0 && (got < 0.85*want || got > 1.15*want) {
				t.Errorf("%+v: %.0f packets are %s, want about %.0f", e, got, what, want)
			}
		}
		if (corrupt > 0) != (e.Corrupt > 0) || (truncated > 0) != (e.Truncate > 0) || uint64(good) < packets-c.Lost-c.Truncated-c.Corrupted || e.Truncate == 0 && uint64(good) > packets-c.Lost-c.Corrupted {
			t.Errorf("%+v: %d good, %d corrupt and %d truncated packets have come: %+v", e, good, corrupt, truncated, c)
		}
	}
}

// TestErrorsOfRoutes has damage hit the bytes of routes. A packet that is cut off within its route comes to nobody, and is not counted again; one whose
// route has been changed goes another way, and is corrupt wherever it comes to; one that was cut off is not changed as well.
func TestErrorsOfRoutes(t *testing.T) {
	t.Parallel()
	const packets = 400
	for _, e := range []link.Errors{{Truncate: machine.Certain, Corrupt: machine.Certain}, {Corrupt: machine.Certain}} {
		n := newNetwork(t, 3, 4096, func(c *link.Config) { c.Errors, c.Rand = e, rand.New(rand.NewPCG(7, 8)) })
		from := plug(n.ports[0])
		for _, p := range n.ports[1:] {
			plug(p)
		}
		for range packets {
			from.send(fabric.Packet{Head: route(perSwitch, 0, 7)})
			for _, p := range n.ports {
				for p.Ready() {
					poll(t, p)
				}
			}
		}
		c := from.port.Counts()
		if e.Truncate > 0 {
			if c.Deposited+c.NoRoute+c.NoPort+c.Corrupted > 0 || c.Truncated < packets {
				t.Errorf("packets that are cut off on each cable: %+v", c)
			}
			continue
		}
		if from.port.InjectAs(fabric.Packet{Head: route(perSwitch, 0, 7)}, fabric.Corrupt); from.port.Counts().Corrupted != packets {
			t.Error("a packet that is corrupt is changed a second time")
		}
		astray := n.ports[8].Counts().BadCRC
		if arrived := n.ports[7].Counts().BadCRC; c.Corrupted != packets || c.NoRoute == 0 || c.NoPort == 0 || astray == 0 || arrived+astray > c.Deposited || arrived == 0 {
			t.Errorf("of packets that are changed %d have come to their host, and %d to another: %+v", arrived, astray, c)
		}
		for h, p := range n.ports {
			if n := p.Counts().Delivered; n > 0 {
				t.Errorf("host %d has taken %d changed packets for good ones", h, n)
			}
		}
	}
}

// TestMalformed has a port refuse what no port writes into a ring, and say whose ring it is.
func TestMalformed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1, 2048, nil)
	a, b := plug(n.ports[0]), plug(n.ports[1])
	w := link.Producer(n.memory[1][0])
	w.Reserve(link.HeaderSize - 1)
	w.Commit(link.HeaderSize - 1)
	if _, err := a.port.Poll(); err == nil || !strings.Contains(err.Error(), "host h0: the ring from host h1: a frame of 7 bytes") {
		t.Errorf("a short frame: %v", err)
	}
	binary.NativeEndian.PutUint64(n.memory[1][0][link.RingBytes(2048)-2048:], 3)
	if _, err := a.port.Poll(); err == nil || !strings.Contains(err.Error(), "host h1") || !a.port.Ready() {
		t.Errorf("a word that begins no frame: %v", err)
	}
	w = link.Producer(n.memory[2][0])
	w.Reserve(link.HeaderSize + mtu + 1)
	w.Commit(link.HeaderSize + mtu + 1)
	if _, err := a.port.Poll(); err == nil || !strings.Contains(err.Error(), "host h2: a frame of 609 bytes; frames have 8 to 608") {
		t.Errorf("a long frame: %v", err)
	}
	for b.port.Idle() {
		b.port.Inject(numbered(route(perSwitch, 1, 2), 0, 0, mtu-20))
	}
	if b.port.Ready() {
		t.Error("a port that waits for room is ready")
	}
	binary.NativeEndian.PutUint64(n.memory[1][2], 1<<40)
	if _, err := b.port.Poll(); err == nil || !strings.Contains(err.Error(), "host h1: the ring to host h2") || !b.port.Ready() {
		t.Errorf("a cursor that no consumer has: %v", err)
	}
}

// TestRefused has a port that cannot be refused, with the reason, and calls that are wrong end in a panic.
func TestRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(c *link.Config){
		"without a topology":                  func(c *link.Config) { c.Topology = nil },
		"has a cable already":                 func(c *link.Config) { c.Topology = &fabric.Topology{Hosts: []string{"a", "b"}}; doubled(c.Topology) },
		"the port of host 2; the":             func(c *link.Config) { c.Host = 2 },
		"port of host h1: rings from 1 hosts": func(c *link.Config) { c.In = c.In[:1] },
		"and to 1; the topology has 2":        func(c *link.Config) { c.Out = c.Out[:1] },
		"packets of 0 bytes":                  func(c *link.Config) { c.MTU = 0 },
		"the ring to h0 takes frames of 1016": func(c *link.Config) { c.MTU = 1009 },
		"chance of -1 ppb":                    func(c *link.Config) { c.Errors.Lose = -1; c.Rand = rand.New(rand.NewPCG(1, 1)) },
		"errors of cables, and no Rand":       func(c *link.Config) { c.Errors.Corrupt = 1 },
	} {
		c := link.Config{Topology: chain(1, 2), Host: 1, MTU: 1008, In: make([]*link.Reader, 2), Out: []*link.Writer{link.Producer(memory(t, 2048)), nil}}
		if _, err := link.New(c); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if _, err := link.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %q, got %v", want, err)
		}
	}
	n := newNetwork(t, 1, 2048, nil)
	p := n.ports[0]
	c := plug(p)
	for what, do := range map[string]func(){
		"a packet longer than the MTU":       func() { p.Inject(fabric.Packet{Head: make([]byte, mtu+1)}) },
		"forward of what is not accepted":    func() { a := fabric.Whole(fabric.Packet{}, fabric.Good); p.Forward(&a, 0) },
		"forward without more than there is": func() { a := fabric.Whole(fabric.Packet{}, fabric.Good); a.Accept(0); p.Forward(&a, 1) },
		"memory of somebody else":            func() { p.Free(fabric.Packet{Head: make([]byte, 8)}) },
		"no memory":                          func() { p.Free(fabric.Packet{}) },
		"a port that is not idle": func() {
			for range 10 {
				p.Inject(numbered(route(perSwitch, 0, 1), 0, 0, mtu-20))
			}
		},
	} {
		if panics(do) == nil {
			t.Errorf("%s makes no panic", what)
		}
	}
	if c.port.Host() != 0 {
		t.Errorf("host %d", c.port.Host())
	}
	alone := chain(1, 1)
	host := alone.AddHost("alone")
	p, err := link.New(link.Config{Topology: alone, Host: host, MTU: 1, In: make([]*link.Reader, 2), Out: make([]*link.Writer, 2)})
	if err != nil || p.Idle() {
		t.Errorf("a host without a cable: %v; its port is idle", err)
	}
}

// doubled has two cables end at a port.
func doubled(t *fabric.Topology) {
	for range 2 {
		t.Connect(fabric.HostEnd(0), fabric.HostEnd(1), 1)
	}
}

// TestAllocations has packets sent, received or discarded without an allocation, if their memory is given back.
func TestAllocations(t *testing.T) {
	n := newNetwork(t, 2, 4096, nil)
	a, b := plug(n.ports[0]), plug(n.ports[3])
	for _, discards := range []bool{false, true} {
		if discards {
			b.head = func(a *fabric.Arrival) { a.Discard() }
		}
		for _, size := range []int{0, 32, mtu - 20} {
			const packets = 20_000
			p := numbered(route(perSwitch, 0, 3), 0, 0, size)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range packets {
				a.port.Inject(p)
				if _, err := b.port.Poll(); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n >= 1<<20 { // a chunk is half of that
				t.Errorf("%d packets with %d bytes take %d bytes of memory", packets, size, n)
			}
		}
	}
	if c := b.port.Counts(); c.Delivered != 60_000 || c.Discarded != 60_000 {
		t.Errorf("%+v", c)
	}
}
