package fabric_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// exchange is a program of all hosts of a chain: each sends a number of packets to each of the others, by turns, and a
// slow one takes them in at a third of the link's rate.
type exchange struct {
	loop  *vtime.Loop
	f     *fabric.Fabric
	each  int
	left  int       // packets that are still to come
	heard [][]heard // by each host
	done  func()    // called when all have come
}

// heard is a packet that has come.
type heard struct {
	from int
	what string
}

// member is a host of it.
type member struct {
	*exchange
	port *fabric.Port
	sent int
}

func newExchange(t *testing.T, loop *vtime.Loop, each int, done func()) *exchange {
	t.Helper()
	const hosts = 4
	f, err := fabric.New(loop, chain(hosts), constants(t))
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{loop: loop, f: f, each: each, left: hosts * (hosts - 1) * each, heard: make([][]heard, hosts), done: done}
	for h := range hosts {
		m := &member{exchange: x, port: f.Port(h)}
		m.port.Attach(m)
		loop.At(0, action(func() { m.Gone(nil) }), 0, 0)
	}
	return x
}

// Gone sends the next packet.
func (m *member) Gone(*fabric.Sending) {
	n, me := len(m.heard), m.port.Host()
	if m.sent == (n-1)*m.each {
		return
	}
	to := (me + 1 + m.sent%(n-1)) % n
	var p fabric.Packet
	in := 0 // the port at the switch that the packet comes in by
	for at := me; at != to; {
		out, next, enters := 2, at+1, 1
		if to < at {
			out, next, enters = 1, at-1, 2
		}
		p.Head = append(p.Head, fabric.RouteByte(out-in))
		at, in = next, enters
	}
	p.Head = append(p.Head, fabric.RouteByte(0-in), byte(me), byte(m.sent))
	p.Body = make([]byte, 40*(m.sent%12))
	m.sent++
	m.port.Inject(p)
}

func (m *member) Head(a *fabric.Arrival) {
	if m.port.Host() == 2 {
		a.Accept(3 * byteTime)
		return
	}
	a.Accept(0)
}

func (m *member) Tail(a *fabric.Arrival) {
	h, p := m.port.Host(), a.Packet()
	m.heard[h] = append(m.heard[h], heard{int(p.Head[0]), fmt.Sprint(p.Head, len(p.Body), a.Verdict())})
	if m.left--; m.left == 0 {
		m.done()
	}
}

func (m *member) Received(*fabric.Arrival, int) {}
func (m *member) Sent(*fabric.Sending, int)     {}
func (m *member) Reset(*fabric.Port)            {}

// TestLive has the host's clock drive what a simulation drives: the same packets come, those of each pair of hosts in the same
// order, none before the time of its bytes has passed. A second goroutine looks too, as ranks do.
func TestLive(t *testing.T) {
	t.Parallel()
	const each = 40
	s := vtime.NewSimulation(1)
	want := newExchange(t, &s.Loop, each, func() {})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	least := s.Now()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	v := vtime.NewLive(1)
	var over vtime.Time
	got := newExchange(t, &v.Loop, each, func() { over = v.Now(); cancel() })
	polls := make(chan struct{})
	go func() {
		defer close(polls)
		for ctx.Err() == nil {
			v.Poll()
		}
	}()
	v.Run(ctx)
	took := vtime.FromDuration(time.Since(began))
	<-polls
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if got.left != 0 || got.f.Counts() != want.f.Counts() {
		t.Fatalf("%d packets are missing: %+v, in a simulation %+v", got.left, got.f.Counts(), want.f.Counts())
	}
	if over < least/2 || over > took {
		t.Errorf("all have come at %v; a simulation takes %v, and the test took %v", over, least, took)
	}
	sender := func(x, y heard) int { return x.from - y.from }
	for h := range want.heard { // by pairs: which sender is first is another matter where events are late
		slices.SortStableFunc(want.heard[h], sender)
		slices.SortStableFunc(got.heard[h], sender)
		if !slices.Equal(got.heard[h], want.heard[h]) {
			t.Errorf("host %d has heard\n%v\nwant\n%v", h, got.heard[h], want.heard[h])
		}
	}
}
