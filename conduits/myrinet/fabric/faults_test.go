package fabric_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// inTurn has host 0 send packets, each when the one before it has left. It returns those that are to be sent yet.
func (b *bed) inTurn(packets ...fabric.Packet) (left *[]fabric.Packet) {
	next := func() {
		if len(packets) > 0 {
			p := packets[0]
			packets = packets[1:]
			b.f.Port(0).Inject(p)
		}
	}
	b.nics[0].gone = next
	next()
	return &packets
}

// TestRouteErrors sends packets that switches refuse: they are dropped and counted, and the next one comes.
func TestRouteErrors(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	b.inTurn(
		packet(100),     // no route byte at all
		packet(100, 2),  // none at the second switch
		packet(100, 3),  // a port without a cable
		packet(100, 4),  // a port that there is not
		packet(100, -1), //
		fabric.Packet{Head: []byte{0xc0 | 0x3f&^0x40, 0}}, // bits that no route byte has
		fabric.Packet{},    // nothing but the CRC
		packet(0, 2, -1),   // nothing but route and CRC: fine
		packet(100, 2, -1), // good
	)
	b.run(t)
	got, want := b.f.Counts(), fabric.Counts{Delivered: 2, NoRoute: 4, NoPort: 3}
	if got != want || b.f.InFlight() != 0 {
		t.Errorf("%+v, want %+v; %d are left", got, want, b.f.InFlight())
	}
}

// TestAbsorb has a host without a control program: it absorbs what comes (Myricom, link specification).
func TestAbsorb(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	b.f.Port(1).Attach(nil)
	b.f.Port(0).Inject(packet(1000, 2, -1))
	b.run(t)
	if got := b.f.Counts(); got != (fabric.Counts{Absorbed: 1}) || b.f.InFlight() != 0 {
		t.Errorf("%+v, %d left", got, b.f.InFlight())
	}
}

// TestFaults has packets damaged by plan: each is counted where that happens and where it ends.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	b.f.Plan(fabric.HostEnd(0), 0, fabric.Fault{Harm: fabric.Lost})
	b.f.Plan(fabric.HostEnd(0), 1, fabric.Fault{Harm: fabric.Corrupted, Byte: 0, Mask: 0x80}) // no route byte any more
	b.f.Plan(fabric.HostEnd(0), 2, fabric.Fault{Harm: fabric.Corrupted, Byte: 1, Mask: 0x02}) // another way
	b.f.Plan(fabric.HostEnd(0), 3, fabric.Fault{Harm: fabric.Cut, Byte: 1})                   // a route byte alone
	b.f.Plan(fabric.HostEnd(0), 4, fabric.Fault{Harm: fabric.Cut, Byte: 2})                   // without a type
	b.f.Plan(fabric.SwitchEnd(0, 2), 3, fabric.Fault{Harm: fabric.Lost})
	n := 0
	b.nics[0].gone = func() {
		if n++; n < 7 {
			b.f.Port(0).Inject(packet(100, 2, -1))
		}
	}
	b.f.Port(0).Inject(packet(100, 2, -1))
	b.run(t)
	got := b.f.Counts()
	want := fabric.Counts{Delivered: 1, Lost: 2, Corrupted: 2, Cut: 2, NoRoute: 1, NoPort: 1}
	// Packet 4 ends at the second switch: its CRC byte is missing, and so is all behind the route.
	if got != want || b.f.InFlight() != 0 {
		t.Errorf("%+v, want %+v; %d are left", got, want, b.f.InFlight())
	}
}

// TestErrorRates has packets damaged by chance, which depends on the seed alone.
func TestErrorRates(t *testing.T) {
	t.Parallel()
	run := func() (fabric.Counts, uint64) {
		c := constants(t)
		c.Error.Corrupt, c.Error.Lose, c.Error.Truncate = machine.Certain/20, machine.Certain/30, machine.Certain/40
		b := newBed(t, chain(3), c)
		var d vtime.Digest
		b.Trace(&d)
		n := 0
		b.nics[0].gone = func() {
			if n++; n < 1000 {
				b.f.Port(0).Inject(packet(100, 2, 1, -1))
			}
		}
		b.f.Port(0).Inject(packet(100, 2, 1, -1))
		b.run(t)
		return b.f.Counts(), d.Sum()
	}
	got, sum := run()
	if again, same := run(); again != got || same != sum {
		t.Errorf("%+v, then %+v", got, again)
	}
	// Four cables; a packet that is lost or cut does not reach the later ones.
	if got.Corrupted < 120 || got.Corrupted > 250 || got.Lost < 80 || got.Lost > 180 || got.Cut < 60 || got.Cut > 150 {
		t.Errorf("%+v", got)
	}
	if ended := got.Delivered + got.BadCRC + got.NoRoute + got.NoPort + got.Lost; ended > 1000 || ended < 950 {
		t.Errorf("%d of 1000 packets have ended: %+v", ended, got) // others were cut within their route
	}
}

// TestLinkFails has a link fail under a packet that reaches through it, and be repaired.
func TestLinkFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(3), constants(t))
	size := 0
	b.nics[2].tail = func(a *fabric.Arrival) { size = a.Len() }
	b.f.Port(0).Inject(packet(1000, 2, 1, -1))
	link := fabric.SwitchEnd(1, 1)
	b.at(3000*ns, func() { b.f.FailLink(link) })
	b.nics[0].gone = func() {
		b.nics[0].gone = nil
		b.f.Port(0).Inject(packet(1000, 2, 1, -1)) // lost
	}
	b.at(15_000*ns, func() { b.f.RepairLink(link); b.f.Port(0).Inject(packet(1000, 2, 1, -1)) })
	b.run(t)
	log := b.nics[2].log
	if len(log) != 4 || log[1].what != "tail truncated" || log[3].what != "tail good" || size != 1001 {
		t.Errorf("%v, the last of %d bytes", log, size)
	}
	// The first byte that did not reach the end of the link would have been there at 3000 ns or later; what was beyond
	// has gone on.
	if first := log[1].at; first < 3000*ns || first > 3000*ns+2*(cableTime+byteTime)+2*150*ns {
		t.Errorf("the packet cut off ended at %v", first)
	}
	if got, want := b.f.Counts(), (fabric.Counts{Delivered: 1, BadCRC: 1, Failed: 1}); got != want || b.f.InFlight() != 0 {
		t.Errorf("%+v, want %+v; %d are left", got, want, b.f.InFlight())
	}
}

// TestSwitchFails has a switch fail with a packet that passes it and one that waits in it.
func TestSwitchFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(3), constants(t))
	b.f.Port(0).Inject(packet(1000, 2, 1, -1))
	b.at(100*ns, func() { b.f.Port(1).Inject(packet(1000, 2, -1)) }) // wants the same way
	b.at(3000*ns, func() {
		if w := b.f.Waits(); len(w) != 1 || w[0].At != fabric.SwitchEnd(1, 0) && w[0].At != fabric.SwitchEnd(1, 1) || !w[0].Owned {
			t.Errorf("waiting: %+v", w)
		}
		b.f.FailSwitch(1)
	})
	b.at(20_000*ns, func() {
		if b.f.InFlight() != 0 || !b.f.Port(0).Idle() || !b.f.Port(1).Idle() {
			t.Errorf("%d packets are left", b.f.InFlight())
		}
		b.f.RepairSwitch(1)
		b.f.Port(0).Inject(packet(1000, 2, 1, -1))
	})
	b.run(t)
	// The first is cut off on both sides of the switch. The other is cut off before it, and what waits in it vanishes.
	if got, want := b.f.Counts(), (fabric.Counts{Delivered: 1, BadCRC: 1, Failed: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	log := b.nics[2].log
	if len(log) != 4 || log[1].what != "tail truncated" || log[3].what != "tail good" {
		t.Fatalf("%v", log)
	}
	if end := log[1].at; end < 3000*ns || end > 3000*ns+2*(cableTime+byteTime)+150*ns {
		t.Errorf("what had left the switch ended at %v", end)
	}
}

// TestRepair repairs what has not failed, which is nothing, and one of two things that have.
func TestRepair(t *testing.T) {
	t.Parallel()
	b := newBed(t, chain(2), constants(t))
	link := fabric.SwitchEnd(0, 2)
	at := vtime.Time(0)
	for _, step := range []struct {
		what   string
		do     func()
		passes bool
	}{
		{"nothing has failed", func() { b.f.RepairLink(link); b.f.RepairSwitch(1) }, true},
		{"the link fails", func() { b.f.FailLink(link) }, false},
		{"a switch that has not failed is repaired", func() { b.f.RepairSwitch(1) }, false},
		{"the link is repaired", func() { b.f.RepairLink(link) }, true},
		{"a switch fails", func() { b.f.FailSwitch(1) }, false},
		{"a link that has not failed is repaired", func() { b.f.RepairLink(link) }, false},
		{"the link fails too", func() { b.f.FailLink(link) }, false},
		{"the switch is repaired", func() { b.f.RepairSwitch(1) }, false},
		{"the link is repaired, too", func() { b.f.RepairLink(link) }, true},
		{"both ends fail", func() { b.f.FailSwitch(0); b.f.FailSwitch(1) }, false},
		{"one of them is repaired", func() { b.f.RepairSwitch(0) }, false},
		{"both are repaired", func() { b.f.RepairSwitch(1) }, true},
	} {
		step.do()
		before := b.nics[1].packets
		b.f.Port(0).Inject(packet(20, 2, -1))
		at += 10 * vtime.Microsecond
		b.RunUntil(at)
		if passed := b.nics[1].packets > before; passed != step.passes {
			t.Errorf("%s: a packet has passed: %v", step.what, passed)
		}
	}
}

// TestLimit has receivers that do not drain: one that never accepts, one that pauses. The time limit
// ends the packet, or all that the port holds.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		for _, paused := range []bool{false, true} {
			c := constants(t)
			c.Limit.Time, c.Limit.Reset = 100*vtime.Microsecond, reset
			b := newBed(t, chain(2), c)
			n := b.nics[1]
			first := true
			n.head = func(a *fabric.Arrival) {
				if paused || !first {
					a.Accept(0)
				}
				if paused && first {
					a.Watch(10)
				}
				first = false
			}
			n.in = func(a *fabric.Arrival, _ int) { a.Pause() }
			size := -1
			n.tail = func(a *fabric.Arrival) {
				if size < 0 {
					size = a.Len()
				}
			}
			sent := 0
			again := func() {
				if sent++; sent < 4 {
					b.f.Port(0).Inject(packet([]int{20, 20, 200, 200}[sent], 2, -1))
				}
			}
			b.nics[0].gone = again
			b.f.Port(0).Inject(packet(20, 2, -1))
			b.run(t)
			want := fabric.Counts{Expired: 1, Delivered: 3}
			if reset {
				want.Delivered = 1 // the second, and the third, whose head is in the slack buffer, are lost
			}
			if paused {
				want.BadCRC = 1
			}
			got := b.f.Counts()
			if wantSize := map[bool]int{false: 0, true: 10}[paused]; got != want || size != wantSize || b.f.InFlight() != 0 {
				t.Errorf("reset %v, paused %v: %+v, want %+v; %d bytes, %d packets left; %v", reset, paused, got, want, size, b.f.InFlight(), n.log)
			}
			resets := 0
			for i, e := range n.log {
				if e.what == "reset" && n.log[i-1].what == "tail truncated" {
					resets++
				}
			}
			if resets != map[bool]int{false: 0, true: 1}[reset] {
				t.Errorf("%d resets: %v", resets, n.log)
			}
		}
	}
}

// ring3 is a circle of three switches, with a host at port 0 of each: port 1 leads on, port 2 back.
func ring3() *fabric.Topology {
	t := new(fabric.Topology)
	for i := range 3 {
		t.AddSwitch("s"+string(rune('0'+i)), fabric.SAN, fabric.SAN, fabric.SAN)
		t.AddHost("h" + string(rune('0'+i)))
		t.Connect(fabric.HostEnd(i), fabric.SwitchEnd(i, 0), 1000)
	}
	for i := range 3 {
		t.Connect(fabric.SwitchEnd(i, 1), fabric.SwitchEnd((i+1)%3, 2), 1000)
	}
	return t
}

// TestDeadlock has each host of a circle send to the one before by way of the others. Each packet holds the channel that
// another waits for: nothing moves any more, and the fabric says so. The time limit resolves it.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	open := newBed(t, ring3(), constants(t)) // two packets close no circle
	for h := range 2 {
		open.f.Port(h).Inject(packet(1000, 1, -1, -2))
	}
	open.run(t)
	if got := open.f.Counts(); got != (fabric.Counts{Delivered: 2}) || len(open.f.Waits()) > 0 {
		t.Errorf("two packets: %+v, %+v", got, open.f.Waits())
	}
	for _, limit := range []vtime.Time{0, vtime.Millisecond} {
		c := constants(t)
		c.Limit.Time = limit
		b := newBed(t, ring3(), c)
		for h := range 3 {
			b.f.Port(h).Inject(packet(1000, 1, -1, -2))
		}
		b.run(t)
		waits := b.f.Waits()
		if limit > 0 {
			// All have waited for the same time.
			if got := b.f.Counts(); got != (fabric.Counts{Expired: 3}) || b.f.InFlight() > 0 || b.Now() < limit {
				t.Errorf("with a limit: %+v, %d left at %v", got, b.f.InFlight(), b.Now())
			}
			continue
		}
		if len(waits) != 3 || b.f.Counts().Delivered != 0 {
			t.Fatalf("%+v, %+v", waits, b.f.Counts())
		}
		for _, w := range waits {
			if !w.Owned || w.Owner.Port != 0 || w.At.Port != 2 || w.For.Port != 1 {
				t.Errorf("%+v", w)
			}
		}
	}
}

// TestStopped has the hosts of a circle send packets that are shorter than a slack buffer. Each channel of the circle ends in a full
// buffer, from which a packet leaves that is stopped: none waits for an output, and nothing moves any more. The time limit
// resolves that.
func TestStopped(t *testing.T) {
	t.Parallel()
	const size, each = 8, 9
	before := uint64(0) // packets that arrive until nothing moves
	for _, limit := range []vtime.Time{0, vtime.Millisecond} {
		for _, reset := range []bool{false, true} {
			c := constants(t)
			c.Limit.Time, c.Limit.Reset = limit, reset
			b := newBed(t, ring3(), c)
			for _, n := range b.nics {
				left := each
				n.gone = func() {
					if left--; left >= 0 {
						n.port.Inject(packet(size, 1, -1, -2))
					}
				}
				b.at(0, n.gone)
			}
			b.run(t)
			got, left := b.f.Counts(), b.f.InFlight()
			if len(b.f.Waits()) > 0 {
				t.Errorf("packets wait for outputs: %+v", b.f.Waits())
			}
			if limit == 0 {
				before = got.Delivered
				if left == 0 || got.Expired > 0 {
					t.Errorf("without a limit: %d packets are left, %+v", left, got)
				}
				continue
			}
			more := got.Delivered > before
			if left > 0 || got.Expired < 3 || b.Now() < 2*limit || more == reset {
				t.Errorf("reset %v: %d packets are left at %v, %d had come before, %+v", reset, left, b.Now(), before, got)
			}
		}
	}
}

// TestHeadOfLine has a packet wait behind others whose output is taken, though its own is free. When that output is not
// taken, nothing waits.
func TestHeadOfLine(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{true, false} {
		b := newBed(t, chain(3), constants(t))
		if taken {
			b.nics[2].head = func(a *fabric.Arrival) {} // h2 takes nothing in, so that the way to it is blocked
		}
		sends := b.inTurn(packet(20, 2, 1, -1), packet(120, 2, 1, -1), packet(120, 2, 1, -1), packet(20, 2, -1))
		b.run(t)
		passed, left := b.nics[1].packets, b.f.InFlight()
		if taken && (passed != 0 || len(*sends) != 0 || left == 0) {
			t.Errorf("%d packets have passed those that wait, %d have not been sent, %d are under way", passed, len(*sends), left)
		}
		if !taken && (passed != 1 || b.nics[2].packets != 3 || left != 0) {
			t.Errorf("with a free output, %d and %d packets have come, %d are under way", passed, b.nics[2].packets, left)
		}
	}
}

// TestLimitUnderByte has the time limit come while a byte is under way into the memory of a host that pauses. That byte comes in,
// the packet ends behind it, and the next one arrives. If it is the last one, the limit has nothing to end.
func TestLimitUnderByte(t *testing.T) {
	t.Parallel()
	const size = 20
	for _, in := range []int{0, 5, size - 1} {
		c := constants(t)
		c.Limit.Time = 100 * vtime.Microsecond
		b := newBed(t, chain(2), c)
		var got []int
		b.nics[1].head = func(a *fabric.Arrival) {
			if len(got) > 0 {
				a.Accept(0)
				return
			}
			a.Accept(vtime.Millisecond)
			b.at(b.Now()+vtime.Time(in)*vtime.Millisecond+200*vtime.Microsecond, a.Pause)
		}
		b.nics[1].tail = func(a *fabric.Arrival) { got = append(got, a.Len()) }
		b.f.Port(0).Inject(packet(size-1, 2, -1))
		b.at(vtime.Second, func() { b.f.Port(0).Inject(packet(size-1, 2, -1)) })
		b.run(t)
		counts := fabric.Counts{Expired: 1, BadCRC: 1, Delivered: 1}
		if in == size-1 {
			counts = fabric.Counts{Delivered: 2}
		}
		if want := []int{in + 1, size}; !slices.Equal(got, want) || b.f.Counts() != counts || b.f.InFlight() > 0 {
			t.Errorf("paused in byte %d: packets of %v bytes, want %v; %+v", in, got, want, b.f.Counts())
		}
	}
}

// TestDamageOfNothing has the link behind a waiting packet fail when no more than its route byte has come. The packet has no byte
// on the channel that it is given then, and chance has nothing to corrupt there.
func TestDamageOfNothing(t *testing.T) {
	t.Parallel()
	c := constants(t)
	c.Error.Corrupt = machine.Certain
	b := newBed(t, chain(3), c)
	b.f.Port(0).Inject(packet(300, 2, -1)) // has the output
	s := b.f.Port(2).InjectPaced(packet(100, 1, -2))
	s.Supply(2, 0)
	b.at(vtime.Microsecond, func() {
		if waits := b.f.Waits(); len(waits) != 1 {
			t.Errorf("waiting: %v", waits)
		}
		b.f.FailLink(fabric.SwitchEnd(1, 2))
		s.Supply(100, 0)
	})
	b.run(t)
	if got, want := b.f.Counts(), (fabric.Counts{BadCRC: 1, Corrupted: 2, Failed: 1}); got != want || b.f.InFlight() > 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}
