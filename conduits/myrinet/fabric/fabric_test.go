package fabric_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const ns = vtime.Nanosecond

// constants returns those of Myrinet, in which a byte takes 6.25 ns and a metre 5 ns.
func constants(t testing.TB) *fabric.Constants {
	t.Helper()
	c, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	c.Limit.Time = 0
	return c
}

// nic notes what comes and goes.
type nic struct {
	loop    *vtime.Loop
	port    *fabric.Port
	log     []event
	head    func(a *fabric.Arrival) // nil: accept at the link's rate
	in      func(a *fabric.Arrival, n int)
	tail    func(a *fabric.Arrival)
	gone    func()
	packets int
	bytes   []byte
}

type event struct {
	at   vtime.Time
	what string
}

func (n *nic) note(what string) { n.log = append(n.log, event{n.loop.Now(), what}) }

func (n *nic) Head(a *fabric.Arrival) {
	n.note("head")
	if n.head != nil {
		n.head(a)
		return
	}
	a.Accept(0)
}
func (n *nic) Received(a *fabric.Arrival, i int) {
	n.note("received")
	if n.in != nil {
		n.in(a, i)
	}
}
func (n *nic) Tail(a *fabric.Arrival) {
	n.note("tail " + a.Verdict().String())
	n.packets++
	n.bytes = a.Packet().Head
	if n.tail != nil {
		n.tail(a)
	}
}
func (n *nic) Sent(s *fabric.Sending, i int) { n.note("sent") }
func (n *nic) Gone(s *fabric.Sending) {
	n.note("gone")
	if n.gone != nil {
		n.gone()
	}
}
func (n *nic) Reset(p *fabric.Port) { n.note("reset") }

// bed is a fabric with a nic at each host.
type bed struct {
	*vtime.Simulation
	f    *fabric.Fabric
	nics []*nic
}

func newBed(t testing.TB, topo *fabric.Topology, c *fabric.Constants) *bed {
	t.Helper()
	s := vtime.NewSimulation(1)
	f, err := fabric.New(&s.Loop, topo, c)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{Simulation: s, f: f}
	for h := range topo.Hosts {
		n := &nic{loop: &s.Loop, port: f.Port(h)}
		n.port.Attach(n)
		b.nics = append(b.nics, n)
	}
	return b
}

// packet returns one with the given route, of size bytes besides.
func packet(size int, deltas ...int) fabric.Packet {
	var p fabric.Packet
	for _, d := range deltas {
		p.Head = append(p.Head, fabric.RouteByte(d))
	}
	for i := range size {
		p.Head = append(p.Head, byte(i)&0x7f)
	}
	return p
}

// chain returns switches in a row, with a host at port 0 of each: port 1 leads to the one before, port 2 to the next.
func chain(n int) *fabric.Topology {
	t := new(fabric.Topology)
	for i := range n {
		t.AddSwitch("s"+string(rune('0'+i)), fabric.SAN, fabric.SAN, fabric.SAN, fabric.SAN)
		t.AddHost("h" + string(rune('0'+i)))
		t.Connect(fabric.HostEnd(i), fabric.SwitchEnd(i, 0), 1000)
		if i > 0 {
			t.Connect(fabric.SwitchEnd(i-1, 2), fabric.SwitchEnd(i, 1), 1000)
		}
	}
	return t
}

// TestUnloaded has a packet cross three switches alone: each byte takes the time of a cable and of a byte on each
// of four cables, and the head 150 ns in each switch.
func TestUnloaded(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(3), constants(t))
	b.f.Port(0).Inject(packet(100, 2, 1, -1))
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	const (
		p    = 6250 * vtime.Picosecond
		d    = 50 * ns
		head = 4*(p+d) + 3*150*ns // of the first byte of the type
	)
	// The first byte of the type is the fourth of the packet. Each route byte before it is consumed while the switch
	// looks, which takes longer than a byte.
	want := []event{{head, "head"}, {head + 101*p, "tail good"}}
	got := b.nics[2].log
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
	if want := (event{104 * p, "gone"}); len(b.nics[0].log) != 1 || b.nics[0].log[0] != want {
		t.Errorf("sender: %v, want %v", b.nics[0].log, want)
	}
}

// TestEvents counts the events of packets that cross three switches one behind the other: one where each head is looked at, one
// where a tail leaves a host, and one where it is taken in. A tail that leaves a switch with nothing to wait for it has none, nor
// has one that only the packet behind it waits for.
func TestEvents(t *testing.T) {
	t.Parallel()
	const packets, each = 3, 4 + 1 + 1 // too few to be stopped
	b := newBed(t, chain(3), constants(t))
	left := packets
	send := func() {
		if left--; left >= 0 {
			b.f.Port(0).Inject(packet(30, 2, 1, -1))
		}
	}
	b.nics[0].gone = send
	send()
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	if got := b.Events(); got != packets*each || b.nics[2].packets != packets || b.f.InFlight() != 0 {
		t.Errorf("%d events, %d packets have come and %d are under way; want %d events", got, b.nics[2].packets, b.f.InFlight(), packets*each)
	}
}
