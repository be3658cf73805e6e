package gm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// peer is node 0 of a star in place of a host with GM: it sends the packets that a test makes, and keeps what comes.
type peer struct {
	t     *testing.T
	port  *fabric.Port
	queue fifo.Queue[fabric.Packet]
	got   []gm.Header
}

func newPeer(t *testing.T, b *bed) *peer {
	p := &peer{t: t, port: b.f.Port(0)}
	p.port.Attach(p)
	return p
}

// send sends a packet to node 1.
func (p *peer) send(h gm.Header, payload string) {
	h.Target, h.Length = 1, uint16(len(payload))
	p.queue.Push(fabric.Packet{Head: append(h.Append([]byte{fabric.RouteByte(1)}), payload...)})
	p.Gone(nil)
}

// message sends a message of a packet to a port of node 1.
func (p *peer) message(port uint8, h gm.Header, payload string) {
	h.Kind, h.First, h.Last, h.Class, h.TargetPort = gm.Data, true, true, gm.Class(len(payload)), port<<1
	p.send(h, payload)
}

// number asks node 1 for the number of a program.
func (p *peer) number(b *bed, program uint16) uint16 {
	p.message(0, gm.Header{SenderConn: program}, "")
	b.RunUntil(b.Now() + vtime.Millisecond)
	last := p.got[len(p.got)-1]
	if last.Kind != gm.NACKOpen || last.TargetConn != program || last.SenderConn == 0 {
		p.t.Fatalf("no number: %+v", last)
	}
	return last.SenderConn
}

// kinds returns what has come since the last call.
func (p *peer) kinds() (all []gm.Kind) {
	for _, h := range p.got {
		all = append(all, h.Kind)
	}
	p.got = nil
	return all
}

func (p *peer) Gone(*fabric.Sending) {
	if p.port.Idle() {
		if packet, ok := p.queue.Pop(); ok {
			p.port.Inject(packet)
		}
	}
}

func (p *peer) Head(a *fabric.Arrival) { a.Accept(0) }

func (p *peer) Tail(a *fabric.Arrival) {
	b := slices.Concat(a.Packet().Head, a.Packet().Body)
	h, err := gm.DecodeHeader(b, len(b)-gm.HeaderSize)
	if err != nil {
		p.t.Fatal(err)
	}
	p.got = append(p.got, h)
}

func (p *peer) Received(*fabric.Arrival, int) {}
func (p *peer) Sent(*fabric.Sending, int)     {}
func (p *peer) Reset(*fabric.Port)            {}

// inbox opens a port of node 1 with buffers for messages of 5 to 8 B, and returns what has come to it.
func inbox(t *testing.T, b *bed, number int) *[]string {
	t.Helper()
	got := new([]string)
	port, err := b.hosts[1].Open(number, func(m *gm.Message) { *got = append(*got, string(m.Data)) })
	if err != nil {
		t.Fatal(err)
	}
	in := b.hosts[1].Register(make([]byte, 64))
	for i := range 8 {
		if err := port.Provide(in, 8*i, 3, gm.Low); err != nil {
			t.Fatal(err)
		}
	}
	b.RunUntil(b.Now() + vtime.Millisecond)
	return got
}

// outbox returns what sends messages of a size from node 0 to ports of node 1, and what has become of them: port, size and error.
func outbox(t *testing.T, b *bed) (send func(port, size int), results *[]string) {
	t.Helper()
	src, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := b.hosts[0].Register(make([]byte, 1<<16))
	results = new([]string)
	return func(port, size int) {
		err := src.Send(memory, 0, size, gm.Low, 1, port, func(err error) { *results = append(*results, fmt.Sprint(port, " ", size, " ", err)) })
		if err != nil {
			t.Error(err)
		}
	}, results
}
