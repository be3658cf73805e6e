package component_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// full is a header with everything, and what it is with all protocols.
var (
	full = component.Header{
		Kind: component.Data, Source: 0x0102, Target: 0x0304, Port: 0x0506, Message: 0x0708, Index: 0x090a, Length: 3, Total: 0x0b0c0d0e,
		Flags: component.Reliability | component.Credits | component.Multicast | component.MTU | component.Rendezvous, Sequence: 0x11121314, Freed: 0x15161718, Group: 0x1a1b, MTU: 0x00001000, Buffer: 0x21222324,
	}
	base     = []byte{0, 12, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 3, 11, 12, 13, 14}
	extended = []byte{0x5e, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0x1a, 0x1b, 0, 0, 0x10, 0, 0x21, 0x22, 0x23, 0x24}
	payload  = []byte{7, 8, 9}
)

// TestHeader has headers byte by byte: what a composition has not is not on the wire, and with Active neither is what does not
// act on the frame.
func TestHeader(t *testing.T) {
	check := func(what string, got, want []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", what, got, want)
		}
	}
	check("baseline", component.Append[[0]byte](&full, nil), base)
	check("all", component.Append[[component.All]byte](&full, nil), slices.Concat(base, extended))
	check("reliability", component.Append[[component.Reliability]byte](&full, nil), slices.Concat(base, extended[4:8]))
	check("rendezvous", component.Append[[component.Rendezvous | component.Adaptive]byte](&full, nil), slices.Concat(base, extended[20:]))
	some := full
	some.Flags = component.Credits
	check("active", component.Append[[component.All]byte](&some, nil), slices.Concat(base, []byte{4, 0, 0, 0}, extended[8:12]))
	h, rest, err := component.Decode[[component.All]byte](slices.Concat(base, extended, payload))
	if err != nil || h != full || !bytes.Equal(rest, payload) {
		t.Errorf("%+v, %x, %v", h, rest, err)
	}
}

// FuzzDecode reads any bytes as frames of three compositions: what is accepted is what would be written.
func FuzzDecode(f *testing.F) {
	f.Add(slices.Concat(base, payload))
	f.Add(slices.Concat(base, extended, payload))
	f.Add(component.Append[[component.Reliability]byte](&component.Header{Kind: component.Ack, Sequence: 5}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		again[[0]byte](t, b)
		again[[component.Reliability]byte](t, b)
		again[[component.All]byte](t, b)
	})
}

func again[S any](t *testing.T, b []byte) {
	h, rest, err := component.Decode[S](b)
	if err == nil && !bytes.Equal(append(component.Append[S](&h, nil), rest...), b) {
		t.Errorf("%x is read as %+v and %x", b, h, rest)
	}
}

// strange sends bytes to a node whose NIC they come to as a packet, between messages of a third node.
func (c composition) strange(t testing.TB, packets ...[]byte) component.Counts {
	traits := small()
	b := c.bed(t, profile(t), traits, 3)
	got := 0
	must(t, b.Nodes[1].Handle(1, func(m *component.Message) {
		if m.From == 2 {
			if !bytes.Equal(m.AppendTo(nil), text(100, got)) {
				t.Errorf("message %d has come as %x", got, m.AppendTo(nil))
			}
			got++
		}
	}))
	port := b.f.Port(0)
	port.Attach(nil) // its packets are not the component's
	for i, p := range packets {
		must(t, b.Nodes[2].Send(1, 1, text(100, i), nil))
		port.Inject(fabric.Packet{Head: append([]byte{fabric.RouteByte(1)}, p...)})
		b.RunUntil(b.Now() + 500*vtime.Microsecond)
	}
	if got != len(packets) {
		t.Errorf("%d of %d messages have come beside %x", got, len(packets), packets)
	}
	return b.Nodes[1].Counts()
}

// FuzzNIC sends any bytes to a component: others' messages come all the same.
func FuzzNIC(f *testing.F) {
	h := component.Header{Kind: component.Data, Source: 0, Target: 1, Port: 1, Length: 3, Total: 3}
	f.Add(append(component.Append[[0]byte](&h, nil), payload...))
	f.Add(append(component.Append[[component.All]byte](&h, nil), payload...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8192 {
			everything.strange(t, b)
			baseline.strange(t, b)
		}
	})
}

// TestStrange has frames dropped and counted that no component of the composition makes.
func TestStrange(t *testing.T) {
	frame := func(change func(*component.Header), payload ...byte) []byte {
		h := component.Header{Kind: component.Data, Source: 0, Target: 1, Port: 9, Length: uint16(len(payload)), Total: uint32(len(payload)), Flags: component.Credits}
		change(&h)
		return append(component.Append[[component.All]byte](&h, nil), payload...)
	}
	for name, c := range map[string]struct {
		packet []byte
		count  func(component.Counts) uint64
	}{
		"empty":       {nil, func(k component.Counts) uint64 { return k.Malformed }},
		"foreign":     {append([]byte{0, 8}, make([]byte, 40)...), func(k component.Counts) uint64 { return k.Foreign }},
		"short":       {frame(func(*component.Header) {})[:18], func(k component.Counts) uint64 { return k.Malformed }},
		"too long":    {make([]byte, 4000), func(k component.Counts) uint64 { return k.Malformed }},
		"length":      {frame(func(h *component.Header) { h.Length = 9 }, 1, 2), func(k component.Counts) uint64 { return k.Malformed }},
		"no source":   {frame(func(h *component.Header) { h.Source = 3 }), func(k component.Counts) uint64 { return k.Malformed }},
		"target":      {frame(func(h *component.Header) { h.Target = 2 }), func(k component.Counts) uint64 { return k.Stray }},
		"itself":      {frame(func(h *component.Header) { h.Source = 1 }), func(k component.Counts) uint64 { return k.Stray }},
		"no flag":     {frame(func(h *component.Header) { h.Flags = 0 }, 1), func(k component.Counts) uint64 { return k.Malformed }},
		"no buffer":   {frame(func(h *component.Header) { h.Flags |= component.Rendezvous; h.Buffer = 1 << 31 }, 1), func(k component.Counts) uint64 { return k.BadBuffer }},
		"gap":         {frame(func(h *component.Header) { h.Flags |= component.Reliability; h.Sequence = 1 }, 1), func(k component.Counts) uint64 { return k.Gap }},
		"duplicate":   {frame(func(h *component.Header) { h.Flags |= component.Reliability; h.Sequence = 1<<32 - 1 }, 1), func(k component.Counts) uint64 { return k.Duplicate }},
		"no protocol": {frame(func(h *component.Header) { h.Kind, h.Port = component.Capsule, 77 }, 1), func(k component.Counts) uint64 { return k.Unknown }},
		"settings":    {frame(func(h *component.Header) { h.Kind, h.Port = component.Capsule, 0 }, 1), func(k component.Counts) uint64 { return k.Unknown }},
		"no message":  {frame(func(h *component.Header) { h.Index, h.Total = 7, 2000 }, 1), func(k component.Counts) uint64 { return k.Refused }},
		"no port":     {frame(func(*component.Header) {}, 1), func(k component.Counts) uint64 { return k.NoPort }},
	} {
		k := everything.strange(t, c.packet)
		if c.count(k) != 1 {
			t.Errorf("%s: %+v", name, k)
		}
	}
	const flags = component.Credits | component.Rendezvous
	stolen := [][]byte{
		frame(func(h *component.Header) { h.Kind, h.Message, h.Total = component.Request, 5, 3 }),
		frame(func(h *component.Header) { h.Flags, h.Message, h.Buffer = flags, 5, 1 }, 1, 2, 3),
	}
	if k := everything.strange(t, stolen...); k.BadBuffer != 1 {
		t.Errorf("a buffer that was not granted: %+v", k)
	}
	many := make([][]byte, 20)
	for i := range many { // a message that never ends holds places of its sender only
		many[i] = frame(func(h *component.Header) { h.Index, h.Message, h.Total = uint16(i%2), uint16(i), 500 }, 1)
	}
	if k := everything.strange(t, many...); k.Refused == 0 {
		t.Errorf("parts of messages: %+v", k)
	}
}
