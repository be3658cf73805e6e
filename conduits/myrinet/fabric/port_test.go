package fabric_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const (
	byteTime  = 6250 * vtime.Picosecond
	cableTime = 50 * ns // of 10 m
)

func (b *bed) run(t *testing.T) {
	t.Helper()
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
}

// same compares what a nic has noted.
func same(t *testing.T, who string, got []event, want ...event) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v\nwant %v", who, got, want)
	}
}

// at has something done at a time.
func (b *bed) at(t vtime.Time, f func()) { b.At(t, action(f), 0, 0) }

type action func()

func (f action) Fire(_, _ uint64) { f() }

// TestBackPressure has a receiver accept late: the packet fills the slack buffers that it has come through up to the
// sender, whose bytes beyond them wait.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	const late = 100 * vtime.Microsecond
	var arrival *fabric.Arrival
	b.nics[1].head = func(a *fabric.Arrival) { arrival = a }
	s := b.f.Port(0).Inject(packet(1000, 2, -1))
	b.RunUntil(late)
	// STOP is decided at 56 bytes; until it is obeyed a cable and a byte's time pass, and what is on the cable
	// then comes too: 2*(8+1) bytes, of which one is a route byte consumed before the cable's end or none.
	if got := s.Sent(); got < 3*56 || got > 3*80 || !s.Stopped() {
		t.Errorf("%d bytes have left, STOP in force: %v", got, s.Stopped())
	}
	if arrival.Taken() != 0 {
		t.Errorf("%d bytes taken in", arrival.Taken())
	}
	arrival.Accept(0)
	b.run(t)
	if got := b.nics[1].log; len(got) != 2 || got[1] != (event{late + 1001*byteTime, "tail good"}) {
		t.Errorf("%v, want the tail at %v: no bubble", got, late+1001*byteTime)
	}
	if held := b.f.Port(0).Held(); held < late-3*1500*ns || held > late {
		t.Errorf("the sender was held for %v", held)
	}
}

// TestLook has a host look whether it is stopped at the very time at which STOP comes, and how long it has been: looking changes
// nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	run := func(at vtime.Time, look func(f *fabric.Fabric)) (sent int, stopped vtime.Time) {
		b := newBed(t, chain(2), constants(t))
		b.nics[1].head = func(*fabric.Arrival) {} // so that STOP comes, and no GO
		s := b.f.Port(0).Inject(packet(1000, 2, -1))
		b.at(at, func() { look(b.f) })
		b.run(t)
		return s.Sent(), b.Now() - b.f.Port(0).Held()
	}
	want, stopped := run(0, func(*fabric.Fabric) {})
	for what, look := range map[string]func(f *fabric.Fabric){
		"Stopped": func(f *fabric.Fabric) { f.Port(0).Sending().Stopped() },
		"Held":    func(f *fabric.Fabric) { f.Port(0).Held() },
		"Traffic": func(f *fabric.Fabric) { f.Traffic() },
	} {
		if got, _ := run(stopped, look); got != want {
			t.Errorf("%s at %v: %d bytes leave the host instead of %d", what, stopped, got, want)
		}
	}
}

// TestPace has a receive DMA that takes a byte each 10 ns, pauses, and goes on.
func TestPace(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	var arrival *fabric.Arrival
	b.nics[1].head = func(a *fabric.Arrival) {
		arrival = a
		a.Accept(10 * ns)
		a.Watch(4)
	}
	b.nics[1].in = func(a *fabric.Arrival, n int) {
		if n == 4 {
			if a.Taken() != 4 {
				t.Errorf("%d bytes in", a.Taken())
			}
			a.Watch(100)
			return
		}
		a.Pause()
	}
	b.f.Port(0).Inject(packet(499, 2, -1))
	const start = 3*(byteTime+cableTime) + 2*150*ns
	b.RunUntil(5 * vtime.Microsecond)
	if arrival.Taken() != 100 {
		t.Errorf("%d bytes in during the pause", arrival.Taken())
	}
	if at, ok := arrival.When(100); !ok || at != start+1000*ns {
		t.Errorf("byte 100 at %v, %v", at, ok)
	}
	arrival.Accept(20 * ns)
	b.run(t)
	same(t, "receiver", b.nics[1].log, event{start, "head"}, event{start + 40*ns, "received"}, event{start + 1000*ns, "received"},
		event{5*vtime.Microsecond + 400*20*ns, "tail good"})
}

// TestPaced has a sender whose bytes come into its memory bit by bit.
func TestPaced(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	s := b.f.Port(0).InjectPaced(packet(98, 2, -1))
	s.Watch(60)
	b.at(1000*ns, func() { s.Supply(50, 10*ns) }) // slower than the link: the last at 1500 ns
	b.at(3000*ns, func() { s.Supply(10, 0) })     // all at once
	b.at(4000*ns, func() { s.Supply(40, ns) })    // faster than the link
	b.run(t)
	same(t, "sender", b.nics[0].log, event{3000*ns + 10*byteTime, "sent"}, event{4000*ns + ns + 41*byteTime, "gone"})
	if b.nics[1].packets != 1 {
		t.Error("nothing has come")
	}
}

// TestForward has a host re-inject a packet that is still arriving, and compares with one that waits for its end.
func TestForward(t *testing.T) {
	t.Parallel()
	arrive := func(cut bool) vtime.Time {
		b := newBed(t, chain(3), constants(t))
		again := func(a *fabric.Arrival) { b.f.Port(1).Forward(a, 1) }
		if cut {
			b.nics[1].head = func(a *fabric.Arrival) { a.Accept(0); a.Watch(4) }
			b.nics[1].in = func(a *fabric.Arrival, _ int) { again(a) }
		} else {
			b.nics[1].tail = again
		}
		p := packet(0, 2, -1)
		p.Head = append(p.Head, 1)                          // the type of a packet in transit
		p.Head = append(p.Head, packet(500, 2, -1).Head...) // onward
		b.f.Port(0).Inject(p)
		b.run(t)
		n := b.nics[2]
		if n.packets != 1 || !slices.Equal(n.bytes, packet(500).Head) {
			t.Fatalf("%d packets, the last %v", n.packets, n.bytes)
		}
		return n.log[len(n.log)-1].at
	}
	const half = 3*(byteTime+cableTime) + 2*150*ns // first byte of the packet in the NIC's slack buffer
	// Into memory and out again take a byte's time each.
	if got, want := arrive(true), half+4*byteTime+half+501*byteTime; got != want {
		t.Errorf("cut through: at %v, want %v", got, want)
	}
	if got, want := arrive(false), half+504*byteTime+half+501*byteTime; got != want {
		t.Errorf("stored: at %v, want %v", got, want)
	}
}

// TestForwardHarm damages a packet before a host that re-injects it, at that host and after it. It is never good at its
// end, and what was cut off stays cut off.
func TestForwardHarm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  fabric.End
		fault fabric.Fault
		want  string
		size  int
	}{
		{fabric.HostEnd(0), fabric.Fault{Harm: fabric.Corrupted, Byte: 100, Mask: 1}, "tail corrupt", 501},
		{fabric.SwitchEnd(1, 0), fabric.Fault{Harm: fabric.Corrupted, Byte: 0, Mask: 2}, "tail corrupt", 501},   // what the host takes off
		{fabric.SwitchEnd(1, 2), fabric.Fault{Harm: fabric.Corrupted, Byte: 501, Mask: 4}, "tail corrupt", 501}, // the CRC byte
		{fabric.HostEnd(0), fabric.Fault{Harm: fabric.Cut, Byte: 200}, "tail truncated", 195},
		{fabric.SwitchEnd(0, 2), fabric.Fault{Harm: fabric.Cut, Byte: 200}, "tail truncated", 196},
		{fabric.SwitchEnd(1, 0), fabric.Fault{Harm: fabric.Cut, Byte: 10}, "tail truncated", 7},
		{fabric.SwitchEnd(2, 0), fabric.Fault{Harm: fabric.Cut, Byte: 3}, "tail truncated", 3},
	} {
		b := newBed(t, chain(3), constants(t))
		b.nics[1].head = func(a *fabric.Arrival) { a.Accept(0); a.Watch(4) }
		b.nics[1].in = func(a *fabric.Arrival, _ int) { b.f.Port(1).Forward(a, 1) }
		size := 0
		b.nics[2].tail = func(a *fabric.Arrival) { size = a.Len() }
		p := packet(0, 2, -1)
		p.Head = append(append(p.Head, 1), packet(500, 2, -1).Head...)
		b.f.Plan(c.from, 0, c.fault)
		b.f.Port(0).Inject(p)
		b.run(t)
		n := b.nics[2]
		if len(n.log) != 2 || n.log[1].what != c.want || size != c.size || b.f.Counts().Delivered > 1 || b.f.InFlight() != 0 {
			t.Errorf("%+v from %v: %v, %d bytes, %+v", c.fault, c.from, n.log, size, b.f.Counts())
		}
	}
}

// TestAbort ends a packet that is being sent.
func TestAbort(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	s := b.f.Port(0).Inject(packet(1000, 2, -1))
	b.at(200*byteTime+1, s.Abort)
	size := 0
	b.nics[1].tail = func(a *fabric.Arrival) { size = a.Len() }
	b.run(t)
	same(t, "sender", b.nics[0].log, event{201 * byteTime, "gone"})
	if b.nics[1].log[1].what != "tail truncated" || size != 199 || !b.f.Port(0).Idle() {
		t.Errorf("%v, %d bytes", b.nics[1].log, size)
	}
}

// TestMisuse has calls that a NIC must not make.
func TestMisuse(t *testing.T) {
	t.Parallel()
	topo := chain(2)
	topo.AddHost("idle")
	b := newBed(t, topo, constants(t))
	if b.f.Port(2).Idle() || b.f.Port(2).Held() != 0 {
		t.Error("a host without a cable may send")
	}
	s := b.f.Port(0).InjectPaced(packet(10, 2, -1))
	for what, f := range map[string]func(){
		"two packets at once": func() { b.f.Port(0).Inject(packet(1)) },
		"no cable":            func() { b.f.Port(2).Inject(packet(1)) },
		"too much":            func() { s.Supply(13, 0) },
		"less than nothing":   func() { s.Supply(-1, 0) },
		"no such link":        func() { b.f.Plan(fabric.SwitchEnd(0, 3), 0, fabric.Fault{Harm: fabric.Lost}) },
		"no harm":             func() { b.f.Plan(fabric.HostEnd(0), 0, fabric.Fault{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", what)
				}
			}()
			f()
		}()
	}
}

// TestPauseAtEnd pauses an arrival of which everything is in: it ends, and the time limit has nothing to end.
func TestPauseAtEnd(t *testing.T) {
	t.Parallel()
	c := constants(t)
	c.Limit.Time = 10 * vtime.Microsecond
	b := newBed(t, chain(2), c)
	b.nics[1].head = func(a *fabric.Arrival) { a.Accept(0); a.Watch(a.Len()) }
	b.nics[1].in = func(a *fabric.Arrival, _ int) { a.Pause() }
	b.f.Port(0).Inject(packet(100, 2, -1))
	b.run(t)
	if got, want := b.f.Counts(), (fabric.Counts{Delivered: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestForwardFails has a link fail under a packet that reaches through it, through a host that sends it on, and beyond: it
// ends everywhere.
func TestForwardFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(3), constants(t))
	b.nics[1].head = func(a *fabric.Arrival) { a.Accept(0); a.Watch(4) }
	b.nics[1].in = func(a *fabric.Arrival, _ int) { b.f.Port(1).Forward(a, 1) }
	size := 0
	b.nics[2].tail = func(a *fabric.Arrival) { size = a.Len() }
	p := packet(0, 2, -1)
	p.Head = append(append(p.Head, 1), packet(2000, 2, -1).Head...)
	b.f.Port(0).Inject(p)
	b.at(6000*ns, func() { b.f.FailLink(fabric.SwitchEnd(0, 2)) })
	b.run(t)
	log := b.nics[2].log
	if len(log) != 2 || log[1].what != "tail truncated" || size < 500 || size > 1000 || !b.f.Port(1).Idle() || b.f.InFlight() != 0 {
		t.Errorf("%v, %d bytes, %d packets left", log, size, b.f.InFlight())
	}
	if in, out := b.nics[1].log, b.nics[1].log[len(b.nics[1].log)-1]; out.what != "gone" || out.at > 7000*ns {
		t.Errorf("the host in transit: %v", in)
	}
}

// TestCable has cables that slack buffers are too small for, and constants that make no sense.
func TestCable(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*fabric.Topology, *fabric.Constants){
		"link from h0 to s0:0: a cable of 1400 cm needs slack buffers of 81 bytes": func(t *fabric.Topology, _ *fabric.Constants) { t.Links[0].Length = 1400 },
		"slack.stop is 56, but must be more than slack.go, which is 56":            func(_ *fabric.Topology, c *fabric.Constants) { c.Slack.Go = 56 },
		"link.metre is more than a second": func(t *fabric.Topology, c *fabric.Constants) {
			c.Link.Metre = 10 * vtime.Second
			for i := range t.Links {
				t.Links[i].Length = fabric.MaxLength
			}
		},
		"link.rate is less than a byte in": func(_ *fabric.Topology, c *fabric.Constants) { c.Link.Rate = 1_000_000_001_000 },
		"switch.lan is more than a second": func(_ *fabric.Topology, c *fabric.Constants) { c.Switch.LAN = vtime.Second + 1 },
		"more than a byte in a picosecond": func(_ *fabric.Topology, c *fabric.Constants) { c.Link.Rate = 999 },
		"h1 has a cable already": func(t *fabric.Topology, _ *fabric.Constants) {
			t.Links = append(t.Links, t.Links[1:2]...)
			t.Connect(fabric.SwitchEnd(0, 2), fabric.SwitchEnd(0, 3), 1)
		},
	} {
		topo, c := chain(2), constants(t)
		change(topo, c)
		if _, err := fabric.New(&vtime.NewSimulation(1).Loop, topo, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if c, err := fabric.Load("myrinet-2000"); err != nil || c.Link.Rate.Time(1) != 4000 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestPacketParts looks at packets of one part and of two, at every length: what is first, what is behind, and their type.
func TestPacketParts(t *testing.T) {
	all := []byte{0x06, 0x36, 1, 2, 3, 4}
	for split := range len(all) + 1 {
		p := fabric.Packet{Head: all[:split], Body: all[split:]}
		for n := range len(all) + 2 {
			want := all[:min(n, len(all))]
			if got := p.First(n); !bytes.Equal(got, want) {
				t.Errorf("the first %d of %v: %v", n, p, got)
			}
			if got := p.Cut(n).Bytes(); !bytes.Equal(got, want) {
				t.Errorf("%v cut behind %d: %v", p, n, got)
			}
			if got := p.Skip(n).Bytes(); !bytes.Equal(got, all[len(want):]) {
				t.Errorf("%v without its first %d: %v", p, n, got)
			}
		}
		if n := p.Cut(-1).Len(); n != 1 {
			t.Errorf("nothing of %v has %d bytes", p, n)
		}
	}
	for _, c := range []struct {
		b  []byte
		is bool
	}{{all, true}, {all[:4], true}, {all[:3], false}, {nil, false}, {[]byte{0x81, 0x36, 1, 2}, false}} {
		if kind, ok := fabric.PacketType(c.b); ok != c.is || ok && kind != 0x0636 {
			t.Errorf("the type of %v: %#x, %v", c.b, kind, ok)
		}
	}
}

// TestWatchOfPieces supplies a packet in pieces without a gap, and so it arrives: the mark is told of when it is reached, though
// nothing was known of that byte when the mark was set.
func TestWatchOfPieces(t *testing.T) {
	t.Parallel()
	const size, mark = 300, 120 // all but the CRC byte is supplied
	log := func(piece int) []event {
		b := newBed(t, chain(2), constants(t))
		b.nics[1].head = func(a *fabric.Arrival) { a.Accept(0); a.Watch(mark) }
		s := b.f.Port(0).InjectPaced(packet(size-3, 2, -1))
		for n := 0; n < size-1; n += piece {
			b.at(vtime.Time(n)*byteTime, func() { s.Supply(min(piece, size-1-n), byteTime) })
		}
		b.run(t)
		return b.nics[1].log
	}
	want := log(size - 1)
	if len(want) != 3 || want[1].what != "received" || want[1].at != want[0].at+mark*byteTime {
		t.Fatalf("in one piece: %v", want)
	}
	for _, piece := range []int{20, 33, 119} {
		if got := log(piece); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d bytes: %v, want %v", piece, got, want)
		}
	}
}
