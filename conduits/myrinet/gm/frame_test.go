package gm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestHeader has the header bit by bit: type and subtype, target, session, sequence, length, subports, sender,
// connections.
func TestHeader(t *testing.T) {
	t.Parallel()
	h := gm.Header{
		Kind: gm.Data, First: true, Class: 12, Target: 0x01020304, Session: 0x0506, Sequence: 0x0708, Length: 0x0102,
		TargetPort: 5, SenderPort: 9, Sender: 0x0a0b0c0d, TargetConn: 0x0e0f, SenderConn: 0x1011,
	}
	want := []byte{0, 8, 1, 0x80 | 12, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	b := h.Append(nil)
	if !bytes.Equal(b, want) || len(b) != gm.HeaderSize {
		t.Errorf("%x, want %x", b, want)
	}
	if got, err := gm.DecodeHeader(b, 0x0102); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	for _, k := range []gm.Kind{gm.ACK, gm.NACK, gm.NACKDown, gm.NACKReject, gm.NACKOpen, gm.NACKClose, gm.NACKNoBuffer} {
		b := (&gm.Header{Kind: k}).Append(nil)
		if got, err := gm.DecodeHeader(b, 0); err != nil || got.Kind != k || !strings.Contains(k.String(), "ACK") {
			t.Errorf("%v: %+v, %v", k, got, err)
		}
	}
}

// FuzzDecode reads any bytes: what is accepted is what would be written.
func FuzzDecode(f *testing.F) {
	f.Add((&gm.Header{Kind: gm.Data, First: true, Last: true, Length: 3}).Append(nil), 3)
	f.Add((&gm.Header{Kind: gm.NACK, Last: true}).Append(nil), 0)
	f.Fuzz(func(t *testing.T, b []byte, payload int) {
		if h, err := gm.DecodeHeader(b, payload); err == nil {
			if again := h.Append(nil); !bytes.Equal(again, b[:gm.HeaderSize]) || int(h.Length) != payload {
				t.Errorf("%x has been read as %+v", b, h)
			}
		}
	})
}

// FuzzReceive sends any bytes to a node: each packet has one outcome, and the node goes on.
func FuzzReceive(f *testing.F) {
	data := gm.Header{Kind: gm.Data, First: true, Last: true, Target: 1, Session: 1, Length: 3, TargetPort: 4, Class: 2}
	f.Add(append(data.Append(nil), 1, 2, 3))
	f.Add([]byte{0, 0x0b, 0, 1, 0xbf, 0, 8, 1, 0})
	f.Add((&gm.Header{Kind: gm.NACKDown, Target: 1, Session: 1}).Append(nil))
	f.Add((&gm.Header{Kind: gm.NACKClose, Target: 1}).Append(nil))
	f.Add([]byte{0x70, 0x0f, 0, 0})
	f.Add([]byte{0, 0x0b, 0, 1, 0x80, 0x30})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		b := star(t, 2, profile(t, nil), gm.Image{ITB: true, Transit: transit.Options{Pool: 1}})
		if _, err := b.hosts[1].Open(2, func(m *gm.Message) { t.Errorf("%x has been delivered without a buffer", m.Data) }); err != nil {
			t.Fatal(err)
		}
		out := newFlow(t, b.hosts[1], b.hosts[0], 3, 3, 10, 5000)
		b.do(vtime.Millisecond, func() {
			out.start() // so that there is something that an ACK or NACK can be for
			b.hosts[0].SendMapping(fabric.Packet{Head: append([]byte{fabric.RouteByte(1)}, bytes...)})
		})
		b.RunUntil(vtime.Second)
		if n := b.hosts[1].Counts(); outcomes(&n) > 1+n.InTransit { // what is sent on may come back
			t.Errorf("one packet, and %+v", n)
		}
		if n := b.hosts[1].NIC().CPU; n.Counts().Handled == 0 || out.done != 3 {
			t.Errorf("%d of 3 messages are reported: %v", out.done, out.why)
		}
	})
}
