package gm_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// testbed returns the paper's testbed as a bed.
func testbed(t testing.TB, p *gm.Profile, image gm.Image, routes func(*gm.Testbed) error) *bed {
	t.Helper()
	b, err := gm.NewTestbed(p, image, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := routes(b); err != nil {
		t.Fatal(err)
	}
	return &bed{b.Simulation, b.Fabric, b.Hosts[:]}
}

// images are all that can carry in-transit packets.
var images = map[string]gm.Image{
	"as shipped": {ITB: true},
	"by Send":    {ITB: true, Transit: transit.Options{BySend: true}},
	"pool":       {ITB: true, Transit: transit.Options{Pool: 4}},
	"drop":       {ITB: true, Transit: transit.Options{Drop: true}},
}

// TestInTransit sends messages of all sizes through the in-transit host, while that talks to host 1 itself, so
// that its send DMA is often not free: all arrive, some are cut through, and some have to wait.
func TestInTransit(t *testing.T) {
	t.Parallel()
	for name, image := range images {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := testbed(t, profile(t, nil), image, (*gm.Testbed).InTransit)
			// From switch 2's port 0 up to switch 1, and there to port 0; and back.
			if err := b.hosts[2].SetRoute(0, []byte{fabric.RouteByte(4), fabric.RouteByte(-4)}); err != nil {
				t.Fatal(err)
			}
			if err := b.hosts[0].SetRoute(2, []byte{fabric.RouteByte(4), fabric.RouteByte(-4)}); err != nil {
				t.Fatal(err)
			}
			through := newFlow(t, b.hosts[0], b.hosts[1], 2, 60, 1, 64, 4096, 8192)
			other := newFlow(t, b.hosts[2], b.hosts[0], 3, 60, 4096)
			b.do(vtime.Millisecond, func() { through.start(); other.start() })
			b.RunUntil(2 * vtime.Millisecond)
			// In-transit packets come before the host's own, of which there is always one in the send queue.
			if sent := len(other.got); sent == 60 || !image.Transit.Drop && len(through.got) < 10 {
				t.Errorf("while the in-transit host has sent %d messages, %d have come through", sent, len(through.got))
			}
			b.RunUntil(vtime.Second)
			through.finished()
			other.finished()
			n := b.hosts[2].Counts()
			if n.CutThrough == 0 || n.Pending == 0 && n.Overflow == 0 || n.InTransit < n.CutThrough {
				t.Errorf("not all ways of an in-transit packet have been taken: %+v", n)
			}
			if image.Transit.Drop != (n.Overflow > 0) {
				t.Errorf("%d packets dropped for lack of buffers", n.Overflow)
			}
		})
	}
}

// TestWithout sends an in-transit packet to a program without in-transit support: it is a foreign one.
func TestWithout(t *testing.T) {
	t.Parallel()
	b := testbed(t, profile(t, func(p *gm.Profile) { p.GM.Tries = 2 }), gm.Image{}, (*gm.Testbed).InTransit)
	f := newFlow(t, b.hosts[0], b.hosts[1], 2, 1, 64)
	b.do(vtime.Millisecond, f.start)
	b.RunUntil(vtime.Second)
	if n := b.hosts[2].Counts(); n.Foreign != 3 || n.InTransit != 0 || f.failed != 1 || f.why != gm.ErrUnreachable {
		t.Errorf("%+v, failed with %v", n, f.why)
	}
}

// TestTwoTransits has a route with two in-transit hosts.
func TestTwoTransits(t *testing.T) {
	t.Parallel()
	b := star(t, 4, profile(t, nil), gm.Image{ITB: true})
	d := fabric.RouteByte
	if err := b.hosts[0].SetRoute(3, []byte{d(1)}, []byte{d(1)}, []byte{d(1)}); err != nil {
		t.Fatal(err)
	}
	f := newFlow(t, b.hosts[0], b.hosts[3], 2, 20, 5, 5000)
	b.do(vtime.Millisecond, f.start)
	b.RunUntil(vtime.Second)
	f.finished()
	if one, two := b.hosts[1].Counts().InTransit, b.hosts[2].Counts().InTransit; one < 30 || one != two {
		t.Errorf("%d packets through the first in-transit host, %d through the second", one, two)
	}
}

// TestFaults damages the first packet of a message before, at and after the in-transit host: it goes on, since
// nothing is known of its CRC when it is re-injected, it stays bad, and it is dropped where it ends; the message
// arrives by retransmission. What has no type any more, or another one, ends at the in-transit host.
func TestFaults(t *testing.T) {
	t.Parallel()
	const route = 2 // bytes that switches have consumed when the packet is at the in-transit host
	before, at, after := fabric.HostEnd(0), fabric.SwitchEnd(1, 0), fabric.HostEnd(2)
	corrupt := func(i int) fabric.Fault { return fabric.Fault{Harm: fabric.Corrupted, Byte: i, Mask: 0x10} }
	cut := func(i int) fabric.Fault { return fabric.Fault{Harm: fabric.Cut, Byte: i} }
	for _, c := range []struct {
		name      string
		from      fabric.End
		fault     fabric.Fault
		size      int
		transits  uint64 // that the in-transit host sends on before the packet is sent again
		ends      string // where it ends
		inTransit bool   // it is sent again through the in-transit host
	}{
		{"payload before", before, corrupt(60), 3000, 1, "target corrupt", true},
		{"payload of a short one before", before, corrupt(route + 7 + 30), 20, 1, "target corrupt", true},
		{"CRC before", before, corrupt(route + 4 + 3 + 24 + 3000), 3000, 1, "target corrupt", true},
		{"payload at", at, corrupt(60), 3000, 1, "target corrupt", true},
		{"payload after", after, corrupt(60), 3000, 1, "target corrupt", true},
		{"header after", after, corrupt(3 + 6), 3000, 1, "target corrupt", true},
		{"type before", before, corrupt(route + 1), 3000, 0, "transit corrupt", true},
		{"length of the route", at, corrupt(2), 3000, 0, "transit malformed", true},
		{"length of the route beyond the packet's end", at, fabric.Fault{Harm: fabric.Corrupted, Byte: 3, Mask: 0x80}, 20, 1, "target corrupt", true},
		{"onward route", at, corrupt(4), 3000, 1, "fabric", true},
		{"cut before", before, cut(1000), 3000, 1, "target truncated", true},
		{"cut at", at, cut(1000), 3000, 1, "target truncated", true},
		{"cut after", after, cut(1000), 3000, 1, "target truncated", true},
		{"cut in the type", at, cut(3), 3000, 0, "transit truncated", true},
		{"cut behind the type", at, cut(5), 3000, 0, "transit malformed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := testbed(t, profile(t, nil), gm.Image{ITB: true}, (*gm.Testbed).InTransit)
			b.f.Plan(c.from, 0, c.fault)
			f := newFlow(t, b.hosts[0], b.hosts[1], 2, 1, c.size)
			b.do(vtime.Millisecond, f.start)
			b.RunUntil(2900 * vtime.Microsecond) // before it is sent again
			transit, target, lost := b.hosts[2].Counts(), b.hosts[1].Counts(), b.f.Counts()
			if len(f.got) > 0 || target.Received > 0 {
				t.Error("a damaged packet has been delivered")
			}
			if transit.InTransit != c.transits {
				t.Errorf("%d packets sent on, want %d", transit.InTransit, c.transits)
			}
			ended := map[string]uint64{
				"target corrupt": target.Corrupt, "target truncated": target.Truncated, "transit corrupt": transit.Corrupt,
				"transit truncated": transit.Truncated, "transit malformed": transit.Malformed, "fabric": lost.NoPort + lost.NoRoute,
			}
			if ended[c.ends] != 1 {
				t.Errorf("it has not ended at %q: in-transit host %+v, target %+v, fabric %+v", c.ends, transit, target, lost)
			}
			b.RunUntil(vtime.Second)
			f.finished()
		})
	}
}

// TestEarly has packets end within a few bytes of the type, at a link so slow that the in-transit host acts before their end has
// come: it sends them on by what has arrived.
func TestEarly(t *testing.T) {
	t.Parallel()
	for end := 5; end < 12; end++ {
		b := testbed(t, with(t, "fabric.link.rate", "0.5", "MB/s"), gm.Image{ITB: true}, (*gm.Testbed).InTransit)
		b.f.Plan(fabric.SwitchEnd(1, 0), 0, fabric.Fault{Harm: fabric.Cut, Byte: end})
		f := newFlow(t, b.hosts[0], b.hosts[1], 2, 1, 20)
		b.do(vtime.Millisecond, f.start)
		b.RunUntil(2 * vtime.Millisecond)
		if n := b.hosts[2].Counts(); n.InTransit != 1 || n.CutThrough != 1 || b.hosts[1].Counts().Received > 0 {
			t.Errorf("of a packet of %d B: in-transit host %+v, target %+v", end, n, b.hosts[1].Counts())
		}
		b.RunUntil(vtime.Second)
		f.finished()
	}
}

// TestOverflow is a case in which buffers run out: packets through a and b, and others through b and a. With the
// two buffers of the receive queue, as shipped, all wait for each other for ever. With a pool of buffers, or where
// packets are dropped for which there is none and their senders send them again, all arrive.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		image  gm.Image
		arrive bool
	}{
		"as shipped": {gm.Image{ITB: true}, false},
		"by Send":    {gm.Image{ITB: true, Transit: transit.Options{BySend: true}}, false},
		"pool":       {gm.Image{ITB: true, Transit: transit.Options{Pool: 80}}, true},
		"drop":       {gm.Image{ITB: true, Transit: transit.Options{Drop: true}}, true},
		"pool, drop": {gm.Image{ITB: true, Transit: transit.Options{Pool: 2, Drop: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := star(t, 8, profile(t, func(p *gm.Profile) {
				p.Fabric.Limit.Time = 0 // the time limit would end packets that wait for ever
				p.GM.Window = 8
			}), c.image)
			d := fabric.RouteByte
			var flows []*flow
			for i := range 2 { // c and d through a, then b, to e and f; g and h through b, then a, to f and e
				for k, way := range [2][4]int{{2 + i, 0, 1, 4 + i}, {6 + i, 1, 0, 5 - i}} {
					legs := [][]byte{{d(way[1] - way[0])}, {d(way[2] - way[1])}, {d(way[3] - way[2])}}
					if err := b.hosts[way[0]].SetRoute(way[3], legs...); err != nil {
						t.Fatal(err)
					}
					flows = append(flows, newFlow(t, b.hosts[way[0]], b.hosts[way[3]], 2+2*i+k, 40, 4096))
				}
			}
			b.do(vtime.Millisecond, func() {
				for _, f := range flows {
					f.start()
				}
			})
			b.RunUntil(100 * vtime.Millisecond)
			if c.arrive {
				b.RunUntil(2 * vtime.Second)
				for _, f := range flows {
					f.finished()
				}
				return
			}
			var came [2]int
			for i, until := range []vtime.Time{150, 190} { // long before senders give up
				b.RunUntil(until * vtime.Millisecond)
				for _, f := range flows {
					came[i] += len(f.got)
				}
			}
			a := b.hosts[0].Counts()
			if came[0] == 4*40 || came[0] != came[1] || a.Held == 0 {
				t.Errorf("no deadlock: %d messages have come, then %d of %d; a: %+v", came[0], came[1], 4*40, a)
			}
		})
	}
}

// TestForeign sends packets that are not for the program: each is counted and dropped, and none is delivered.
// Those of the mapper go to the mapper, if there is one.
func TestForeign(t *testing.T) {
	t.Parallel()
	good := func(h gm.Header, payload int) []byte { return append(h.Append(nil), make([]byte, payload)...) }
	data := gm.Header{Kind: gm.Data, First: true, Last: true, Target: 1, Session: 1, Length: 3, TargetPort: 2 << 1}
	with := func(change func(*gm.Header)) gm.Header {
		h := data
		change(&h)
		return h
	}
	typed := func(t uint16, n int) []byte { return append(binary.BigEndian.AppendUint16(nil, t), make([]byte, n)...) }
	for name, c := range map[string]struct {
		bytes []byte
		of    func(*gm.Counts) *uint64
	}{
		"unknown type":     {typed(0x1234, 60), func(n *gm.Counts) *uint64 { return &n.Foreign }},
		"ethernet":         {typed(gm.TypeEthernet, 60), func(n *gm.Counts) *uint64 { return &n.Foreign }},
		"mapping":          {typed(gm.TypeMapping, 60), func(n *gm.Counts) *uint64 { return &n.Foreign }},
		"too short":        {[]byte{0, 8, 1}, func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"nothing":          {nil, func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"route left":       {append([]byte{0x81}, good(data, 3)...), func(n *gm.Counts) *uint64 { return &n.Stray }},
		"another node":     {good(with(func(h *gm.Header) { h.Target = 0 }), 3), func(n *gm.Counts) *uint64 { return &n.Stray }},
		"a wrong length":   {good(data, 4), func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"half a header":    {good(data, 3)[:20], func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"unknown kind":     {good(with(func(h *gm.Header) { h.Kind = 99 }), 3), func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"unknown sender":   {good(with(func(h *gm.Header) { h.Sender = 2 }), 3), func(n *gm.Counts) *uint64 { return &n.Malformed }},
		"unknown session":  {good(with(func(h *gm.Header) { h.Sequence = 7 }), 3), func(n *gm.Counts) *uint64 { return &n.Gap }},
		"a stray ACK":      {good(with(func(h *gm.Header) { h.Kind, h.First, h.Last, h.Length = gm.ACK, false, false, 0 }), 0), func(n *gm.Counts) *uint64 { return &n.Unknown }},
		"an ITB to nobody": {append(typed(transit.Type, 2), 0x81), func(n *gm.Counts) *uint64 { return &n.Malformed }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := star(t, 2, profile(t, nil), gm.Image{ITB: true})
			port, err := b.hosts[1].Open(2, func(*gm.Message) { t.Error("it has been delivered") })
			if err != nil {
				t.Fatal(err)
			}
			if err := port.Provide(b.hosts[1].Register(make([]byte, 8)), 0, 3, gm.Low); err != nil {
				t.Fatal(err)
			}
			b.do(vtime.Millisecond, func() {
				b.hosts[0].SendMapping(fabric.Packet{Head: append([]byte{fabric.RouteByte(1)}, c.bytes...)})
			})
			b.RunUntil(2 * vtime.Millisecond)
			n := b.hosts[1].Counts()
			if *c.of(&n) != 1 {
				t.Errorf("%+v", n)
			}
			if *c.of(&n) = 0; outcomes(&n) != 0 {
				t.Errorf("counted twice: %+v", n)
			}
			var mapped []byte
			b.hosts[1].OnMapping(func(p fabric.Packet) { mapped = p.Head })
			b.hosts[0].SendMapping(fabric.Packet{Head: append([]byte{fabric.RouteByte(1)}, typed(gm.TypeMapping, 5)...)})
			b.RunUntil(3 * vtime.Millisecond)
			if fmt.Sprint(mapped) != fmt.Sprint(typed(gm.TypeMapping, 5)) {
				t.Errorf("the mapper has %x", mapped)
			}
		})
	}
}

// outcomes returns how many packets have been counted that a program has taken in, whatever they were.
func outcomes(n *gm.Counts) uint64 {
	return n.Received + n.InTransit + n.Overflow + n.Corrupt + n.Truncated + n.Malformed + n.Foreign + n.Stray + n.Duplicate + n.Gap + n.NoBuffer + n.Unknown
}
