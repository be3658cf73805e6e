package gm_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// holder is a peer that takes nothing in until it is told to.
type holder struct {
	*peer
	held *fabric.Arrival
}

func (h *holder) Head(a *fabric.Arrival) { h.held = a }

// TestStoppedTwice puts two programs on a NIC, one after the other, while a packet of the first one is held up in the network. The last
// program sends when that packet has left.
func TestStoppedTwice(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *gm.Profile) { p.GM.Queue = 1 })
	b := star(t, 3, p, gm.Image{})
	h := &holder{peer: &peer{t: t, port: b.f.Port(1)}}
	h.port.Attach(h)
	send, _ := outbox(t, b)
	send(2, 4096)
	b.RunUntil(vtime.Millisecond)
	last := b.hosts[0]
	for range 2 {
		var err error
		if last, err = gm.NewHost(b.f, p, gm.Image{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := last.SetRoute(2, []byte{fabric.RouteByte(2)}); err != nil {
		t.Fatal(err)
	}
	f := newFlow(t, last, b.hosts[2], 2, 1, 10)
	f.start()
	b.RunUntil(2 * vtime.Millisecond)
	h.held.Accept(0)
	b.RunUntil(vtime.Second)
	f.finished()
}

// TestStoppedBells puts another program on a NIC whose host waits for room in the FIFO of doorbells: it waits no longer.
func TestStoppedBells(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	b := star(t, 2, p, gm.Image{})
	memory := b.hosts[0].Register(make([]byte, 64))
	for range 2 * p.GM.Ports { // more tokens than the FIFO has room for
		port, err := b.hosts[0].Open(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range p.GM.Accepts {
			if err := port.Provide(memory, 0, 3, gm.Low); err != nil {
				t.Fatal(err)
			}
		}
		port.Close()
	}
	b.RunUntil(vtime.Microsecond)
	if _, err := gm.NewHost(b.f, p, gm.Image{}, 0); err != nil {
		t.Fatal(err)
	}
	b.RunUntil(vtime.Second)
	before := b.Events()
	if b.RunUntil(2 * vtime.Second); b.Events() != before {
		t.Errorf("%d more events", b.Events()-before)
	}
}

// TestCloseAndOpenInMessage closes a host in the middle of a message that comes in, and opens the port again: the sender is told that
// the port was closed.
func TestCloseAndOpenInMessage(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p := newPeer(t, b)
	inbox(t, b, 2)
	h := gm.Header{Kind: gm.Data, First: true, Class: 3, TargetPort: 2 << 1, TargetConn: p.number(b, 7), SenderConn: 7}
	p.send(h, "1234")
	b.RunUntil(b.Now() + vtime.Millisecond)
	b.hosts[1].Close()
	got := inbox(t, b, 2)
	p.got = nil
	h.First, h.Last, h.Class, h.Sequence = false, true, 0, 1
	p.send(h, "5678")
	b.RunUntil(b.Now() + vtime.Millisecond)
	if kinds := p.kinds(); !slices.Equal(kinds, []gm.Kind{gm.NACKDown}) || len(*got) > 0 {
		t.Errorf("answered by %v; %q have come", kinds, *got)
	}
}

// TestOtherNumber has a packet with the number that a program would be given next: that one is given another one, so that the sender
// can tell.
func TestOtherNumber(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p := newPeer(t, b)
	next := p.number(b, 7) + 1
	p.message(0, gm.Header{TargetConn: next, SenderConn: 8}, "")
	b.RunUntil(b.Now() + vtime.Millisecond)
	if last := p.got[len(p.got)-1]; last.Kind != gm.NACKOpen || last.SenderConn == next {
		t.Errorf("a packet with number %d is answered by %+v", next, last)
	}
}
