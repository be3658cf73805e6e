package am2_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// pipe connects two bundles without any cost of a network: what one sends waits for the other.
type pipe struct {
	b     *am2.Bundle
	e     *am2.Endpoint
	addr  netip.AddrPort
	peer  *pipe
	now   time.Duration
	boxes []box // to the peer
	used  int
	h     handler
}

type box struct {
	block *am2.Block
	n     int
}

func (p *pipe) Now() time.Duration     { return p.now }
func (p *pipe) MTU(netip.AddrPort) int { return 65507 }
func (p *pipe) Flush()                 {}

func (p *pipe) Send(_ netip.AddrPort, head, body []byte, _ int) {
	if p.used == len(p.boxes) {
		p.boxes = append(p.boxes, box{})
	}
	x := &p.boxes[p.used]
	p.used++
	x.block = p.peer.b.Block()
	x.n = copy(x.block.Bytes(), head)
	x.n += copy(x.block.Bytes()[x.n:], body)
}

// poll receives what the peer has sent, delivers and serves.
func (p *pipe) poll() int {
	p.now += time.Microsecond
	from := p.peer
	for i := range from.used {
		x := from.boxes[i]
		p.b.Receive(p.now, from.addr, x.block, x.block.Bytes()[:x.n])
		x.block.Release()
	}
	from.used = 0
	n := p.b.Deliver(p.now, 1<<20)
	if p.b.Due() <= p.now {
		p.b.Service(p.now)
	}
	return n
}

func newPipes(t testing.TB, cfg am2.Config) (a, b *pipe) {
	a, b = &pipe{}, &pipe{}
	a.peer, b.peer = b, a
	for i, p := range []*pipe{a, b} {
		var err error
		p.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(1000+i))
		if p.b, err = am2.NewBundle(cfg, p); err != nil {
			t.Fatal(err)
		}
		if p.e, err = p.b.NewEndpoint(0, 1, jobTag, 1, &p.h); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*pipe{a, b} {
		if err := p.e.Map(0, am2.Name{Addr: p.peer.addr, Incarnation: 1}, jobTag); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// send sends one Short of two arguments and reports whether there was room.
func (p *pipe) send(op *am2.Op) bool {
	if p.e.Reserve(op) != am2.Reserved {
		return false
	}
	op.Args[0], op.Args[1] = 1, 2
	p.e.Commit(op)
	return true
}

// reply answers every request.
func reply(op *am2.Op) func(m *am2.Message) bool {
	return func(m *am2.Message) bool {
		if m.Reply {
			return false
		}
		m.Endpoint.ReserveReply(op)
		op.Args[0] = m.Args[0]
		m.Endpoint.CommitReply(op)
		return true
	}
}

// BenchmarkFlood is one Short of 8 argument bytes, all costs of both ends but the network's.
func BenchmarkFlood(b *testing.B) {
	x, y := newPipes(b, am2.Defaults())
	got := 0
	y.h.arrived = func(*am2.Message) bool { got++; return false }
	op := am2.Op{NArgs: 2}
	flood(b, x, y, &op)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if !x.send(&op) {
			x.poll()
			y.poll()
			x.poll()
			for !x.send(&op) {
				x.poll()
				y.poll()
			}
		}
	}
}

// flood warms the pools up.
func flood(t testing.TB, x, y *pipe, op *am2.Op) {
	for range 10_000 {
		for i := 0; !x.send(op); i++ {
			x.poll()
			y.poll()
			if i > 1000 {
				t.Fatal("no room")
			}
		}
	}
	for range 10 {
		x.poll()
		y.poll()
	}
}

// BenchmarkSend is Reserve and Commit alone, of a Short of 8 argument bytes.
func BenchmarkSend(b *testing.B) {
	deep := am2.Defaults() // the timer stops seldom
	deep.Depth, deep.Packets = 1<<16, 1<<16
	x, y := newPipes(b, deep)
	op := am2.Op{NArgs: 2}
	flood(b, x, y, &op)
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	for i := 0; i < b.N; {
		b.StartTimer()
		for i < b.N && x.send(&op) {
			i++
		}
		b.StopTimer()
		for range 3 {
			x.poll()
			y.poll()
		}
	}
}

// BenchmarkRoundTrip is a request and its reply, a packet each.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := newPipes(b, am2.Defaults())
	var rop am2.Op
	rop.NArgs = 1
	y.h.arrived = reply(&rop)
	got := 0
	x.h.arrived = func(*am2.Message) bool { got++; return false }
	op := am2.Op{NArgs: 2}
	b.ReportAllocs()
	for i := range b.N {
		if !x.send(&op) {
			b.Fatal("no room")
		}
		y.poll()
		x.poll()
		if got != i+1 {
			b.Fatalf("%d replies after %d requests", got, i+1)
		}
	}
	s := x.b.Stats()
	b.ReportMetric(float64(s.Sent)/float64(b.N), "packets/op")
}

// BenchmarkBulk is a Long of 1 MB that is lent.
func BenchmarkBulk(b *testing.B) {
	x, y := newPipes(b, am2.Defaults())
	y.h.segment = make([]byte, 1<<20)
	src := make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for range b.N {
		op := am2.Op{Kind: am2.Long, Len: len(src), Src: src}
		for x.e.Reserve(&op) != am2.Reserved {
			x.poll()
			y.poll()
		}
		x.e.Commit(&op)
		for x.b.Unacknowledged() > 0 {
			y.poll()
			x.poll()
		}
	}
}
