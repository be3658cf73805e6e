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
	b.restart(t, p, 0, 2)
	last := b.restart(t, p, 0, 2)
	f := newFlow(t, last, b.hosts[2], 2, 1, 10)
	f.start()
	b.RunUntil(2 * vtime.Millisecond)
	h.held.Accept(0)
	b.RunUntil(vtime.Second)
	f.finished()
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

// TestSilence has a node begin a message, and say no more, as one whose NACK_CLOSE_CONNECTION is lost, or that is switched off: the
// only receive buffer is for another node's message in the end. The rest is refused, should it come after all. While the node
// sends anything of the message, the buffer stays the message's.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	give := 2 * p.GM.Resend * vtime.Time(p.GM.Tries+1) // when a sender has given up
	for _, comes := range []bool{false, true} {
		b := star(t, 3, p, gm.Image{})
		n := newPeer(t, b)
		var got []string
		dst, err := b.hosts[1].Open(2, func(m *gm.Message) { got = append(got, string(m.Data)) })
		if err != nil {
			t.Fatal(err)
		}
		if err := dst.Provide(b.hosts[1].Register(make([]byte, 8)), 0, 3, gm.Low); err != nil {
			t.Fatal(err)
		}
		first := gm.Header{Kind: gm.Data, First: true, Class: 3, TargetPort: 2 << 1, TargetConn: n.number(b, 7), SenderConn: 7}
		rest := first
		rest.First, rest.Last, rest.Class, rest.Sequence = false, true, 0, 1
		n.send(first, "1234")
		for range 3 {
			b.RunUntil(b.Now() + give*9/10)
			if comes {
				n.send(first, "1234")
			}
		}
		src, err := b.hosts[2].Open(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Send(b.hosts[2].Register([]byte("another")), 0, 7, gm.Low, 1, 2, nil); err != nil {
			t.Fatal(err)
		}
		b.RunUntil(b.Now() + 10*vtime.Millisecond)
		n.got = nil
		n.send(rest, "5678")
		b.RunUntil(b.Now() + vtime.Millisecond)
		want, answer := "another", gm.NACKDown
		if comes {
			want, answer = "12345678", gm.ACK
		}
		if kinds := n.kinds(); !slices.Equal(got, []string{want}) || !slices.Equal(kinds, []gm.Kind{answer}) {
			t.Errorf("the node goes on: %v; %q have come, and the rest is answered by %v", comes, got, kinds)
		}
	}
}

// TestCounted restarts a node more often than numbers that are drawn of 65,535 stay different: each program tells itself from all
// before it.
func TestCounted(t *testing.T) {
	t.Parallel()
	const restarts = 400
	p := profile(t, nil)
	b := star(t, 2, p, gm.Image{})
	n := newPeer(t, b)
	memory := make([]byte, 8)
	for range restarts {
		h := b.restart(t, p, 1, 0)
		src, err := h.Open(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Send(h.Register(memory), 0, 8, gm.Low, 0, 2, nil); err != nil {
			t.Fatal(err)
		}
		b.RunUntil(b.Now() + 100*vtime.Microsecond)
	}
	programs := map[uint16]bool{0: true}
	for _, h := range n.got {
		programs[h.SenderConn] = true
	}
	if len(n.got) != restarts || len(programs) != restarts+1 {
		t.Errorf("%d packets of %d programs; want %d of as many", len(n.got), len(programs)-1, restarts)
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
