package grim_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// lossy returns constants with time-outs of a millisecond and a fabric on whose cables packets are lost, damaged and cut short.
func lossy(t testing.TB, chance machine.Chance) *grim.Profile {
	return profile(t, func(p *grim.Profile) {
		e := &p.Fabric.Error
		e.Lose, e.Corrupt, e.Truncate = chance, chance, chance
		p.GRIM.Resend = vtime.Millisecond
	})
}

// TestLoss is TestRandom over cables that lose, damage and cut short one packet in thirty each, on legal and on in-transit routes.
// Without time-outs hardly a message would come.
func TestLoss(t *testing.T) {
	t.Parallel()
	images := []grim.Image{
		{TimeOuts: true}, {TimeOuts: true, PerNI: true}, {TimeOuts: true, Queue: grim.Slotted},
		{TimeOuts: true, ITB: true}, {TimeOuts: true, ITB: true, Pool: 2, PerNI: true},
	}
	seeds := uint64(5)
	if shm.RaceEnabled { // which has nothing to find in virtual time, and takes long over it
		seeds = 2
	}
	var all grim.Counts
	for seed := range seeds {
		image := images[seed%uint64(len(images))]
		digest, n, _ := chaos(t, seed, image, machine.Certain/30)
		if again, _, _ := chaos(t, seed, image, machine.Certain/30); seed == 0 && again != digest {
			t.Errorf("seed %d gives two traces", seed)
		}
		for _, n := range n {
			all.TimeOuts, all.Duplicate, all.Corrupt, all.Truncated = all.TimeOuts+n.TimeOuts, all.Duplicate+n.Duplicate, all.Corrupt+n.Corrupt, all.Truncated+n.Truncated
			all.Gap, all.Refused, all.InTransit = all.Gap+n.Gap, all.Refused+n.Refused, all.InTransit+n.InTransit
		}
	}
	for _, n := range []uint64{all.TimeOuts, all.Duplicate, all.Corrupt, all.Truncated, all.Gap, all.Refused} {
		if n < 20*seeds {
			t.Errorf("too few of something to say anything: %+v", all)
		}
	}
}

// TestLostControl loses the ACK of a message, the NACK of another, and the message itself: each comes once.
func TestLostControl(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from     int
		packet   uint64
		stalls   bool // the receiver has no room for the second message
		ends     grim.Counts
		receives grim.Counts
	}{
		"message":        {0, 0, false, grim.Counts{TimeOuts: 1, Resent: 2}, grim.Counts{Gap: 1}},
		"ACK":            {1, 0, false, grim.Counts{}, grim.Counts{}}, // the next one tells, too
		"last ACK":       {1, 1, false, grim.Counts{TimeOuts: 1, Resent: 1}, grim.Counts{Duplicate: 1}},
		"NACK":           {1, 1, true, grim.Counts{TimeOuts: 1, Resent: 1}, grim.Counts{Refused: 1}},
		"second message": {0, 1, false, grim.Counts{TimeOuts: 1, Resent: 1}, grim.Counts{}},
	} {
		p := lossy(t, 0)
		p.GRIM.Receive = 64
		var got []uint32
		cluster, a, b, id := pair(t, p, grim.Image{TimeOuts: true}, func(_ *grim.Endpoint, m *grim.Message) { got = append(got, m.Args[0]) })
		cluster.Fabric.Plan(fabric.HostEnd(c.from), c.packet, fabric.Fault{Harm: fabric.Lost})
		b.Attend(!c.stalls)
		send(t, a, b, id, 0, make([]byte, map[bool]int{true: 32}[c.stalls]))
		send(t, a, b, id, 1, nil)
		cluster.RunUntil(cluster.Now() + vtime.Millisecond/2)
		b.Attend(true)
		cluster.RunUntil(cluster.Now() + 4*vtime.Millisecond)
		s, r := cluster.Hosts[0].Counts(), cluster.Hosts[1].Counts()
		if !slices.Equal(got, []uint32{0, 1}) || s.TimeOuts != c.ends.TimeOuts || s.Resent != c.ends.Resent ||
			r.Gap != c.receives.Gap || r.Duplicate != c.receives.Duplicate || r.Refused != c.receives.Refused {
			t.Errorf("%s: handled %v; sender %+v, receiver %+v", name, got, s, r)
		}
		for _, h := range cluster.Hosts {
			if err := h.Leaks(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestGone takes a host's cable away. The hosts that send to it are told once, after grim.tries time-outs, and what they go on sending to
// others comes. A host that says so goes on, and its messages come when the cable is back; another one gives the host up.
func TestGone(t *testing.T) {
	t.Parallel()
	p := lossy(t, 0)
	p.GRIM.Tries = 5
	got := map[grim.EndpointID][]uint32{}
	c, all, id := star(t, p, grim.Image{TimeOuts: true}, 4, 2, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
		got[m.Source] = append(got[m.Source], m.Args[0])
	})
	const gone = 3
	var told [2][]int
	var at vtime.Time
	for i := range told {
		c.Hosts[i].OnUnreachable(func(host int) bool {
			told[i] = append(told[i], host)
			at = c.Now()
			return i == 1
		})
	}
	c.RunUntil(c.Now() + 10*vtime.Millisecond)
	c.Fabric.FailLink(fabric.HostEnd(gone))
	begin := c.Now()
	const n = 40
	for i := range n {
		for from := range 3 {
			send(t, all[from][0], all[gone][0], id, uint32(i), pattern(700)) // fetched by DMA
			send(t, all[from][0], all[2][1], id, 1000, nil)
			send(t, all[from][1], all[gone][1], id, uint32(i), nil)
		}
	}
	c.RunUntil(c.Now() + 20*vtime.Millisecond)
	if !slices.Equal(told[0], []int{gone}) || len(told[1]) < 1 || slices.Max(told[1]) != gone || at < begin+5*p.GRIM.Resend {
		t.Errorf("told of %v, at last after %v", told, at-begin)
	}
	if err := all[0][1].Send(all[gone][0].ID(), id, [4]uint32{}, nil); !errors.Is(err, grim.ErrUnreachable) || !strings.Contains(err.Error(), "host 3") {
		t.Errorf("a message to a host that is given up: %v", err)
	}
	if k := c.Hosts[0].Counts().Abandoned; k != 2*n {
		t.Errorf("%d messages abandoned, want %d", k, 2*n)
	}
	for _, host := range []int{0, 2} { // host 2 has nothing that it would have told, and has given up too
		if err := c.Hosts[host].Leaks(); err != nil {
			t.Error(err)
		}
	}
	for _, from := range []int{0, 2} { // the channel of host 1 is full of messages that wait
		if k := len(got[all[from][0].ID()]); k != n {
			t.Errorf("%d of %d messages from host %d to another one have come", k, n, from)
		}
	}
	c.Fabric.RepairLink(fabric.HostEnd(gone))
	c.RunUntil(c.Now() + 20*vtime.Millisecond)
	for channel, want := range []int{2 * n, n} {
		if k := got[all[1][channel].ID()]; len(k) != want || !slices.IsSorted(slices.DeleteFunc(k, func(i uint32) bool { return i == 1000 })) {
			t.Errorf("%d of %d messages from the host that went on: %v", len(k), want, k)
		}
	}
	if err := c.Hosts[1].Leaks(); err != nil {
		t.Error(err)
	}
}

// TestRollbackPastAbandoned gives a host up while a message to it, which has no number yet, lies between two to another host. The first of these is refused when the second has been sent, which is dropped therefore:
// both are sent again, and no time-out is needed.
func TestRollbackPastAbandoned(t *testing.T) {
	t.Parallel()
	const large, gone = 60000, 2
	p := lossy(t, 0)
	p.GRIM.Tries, p.GRIM.Channels = 1, 2
	p.GRIM.Receive = large + 2*grim.HeaderSize
	var got []uint32
	c, all, id := star(t, p, grim.Image{TimeOuts: true}, 3, 2, grim.EndpointOptions{}, func(_ *grim.Endpoint, m *grim.Message) { got = append(got, m.Args[0]) })
	from, to := all[0][0], all[1][0]
	to.Attend(false)
	send(t, from, to, id, 0, pattern(1000)) // besides it there is no room for the next
	c.Hosts[0].OnUnreachable(func(int) bool {
		send(t, from, to, id, 1, pattern(large)) // which the NI fetches for longer than the host takes to give the other one up
		send(t, from, all[gone][0], id, 2, nil)
		send(t, from, to, id, 3, nil)
		return false
	})
	c.Fabric.FailLink(fabric.HostEnd(gone))
	send(t, all[0][1], all[gone][0], id, 4, nil)
	c.RunUntil(c.Now() + 8*vtime.Millisecond)
	if n := c.Hosts[0].Counts(); n.Abandoned != 2 || n.Rollbacks == 0 {
		t.Errorf("not what was to be tested: %+v", n)
	}
	to.Attend(true)
	c.RunUntil(c.Now() + 8*vtime.Millisecond)
	if n := c.Hosts[0].Counts().TimeOuts; !slices.Equal(got, []uint32{0, 1, 3}) || n != 1 {
		t.Errorf("messages %v have come, by %d time-outs; the message to the lost host has taken one", got, n)
	}
	if err := c.Hosts[0].Leaks(); err != nil {
		t.Error(err)
	}
}

// TestGrowth takes a host's cable away for a while. The time-out of what is sent to it doubles with each try, as often as grim.growth says and no more, and is the first one again when
// a message has been answered.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const away = 100 * vtime.Millisecond
	for growth, want := range map[int][2]uint64{ // time-outs of 1, 2, 4, 8, 16, 16, … ms, but for the first with up to as much by chance
		0: {50, 100},
		4: {6, 9},
	} {
		p := lossy(t, 0)
		p.GRIM.Growth, p.GRIM.Tries = growth, 255
		handled := 0
		c, a, b, id := pair(t, p, grim.Image{TimeOuts: true}, func(*grim.Endpoint, *grim.Message) { handled++ })
		end := fabric.HostEnd(1)
		c.Fabric.FailLink(end)
		send(t, a, b, id, 0, nil)
		c.RunUntil(c.Now() + away)
		if n := c.Hosts[0].Counts().TimeOuts; n < want[0] || n > want[1] {
			t.Errorf("growth %d: %d time-outs in %v, want %d to %d", growth, n, away, want[0], want[1])
		}
		c.Fabric.RepairLink(end)
		c.RunUntil(c.Now() + 2*p.GRIM.Resend<<growth)
		if handled != 1 {
			t.Errorf("growth %d: the message has not come", growth)
		}
		before := c.Hosts[0].Counts().TimeOuts
		c.Fabric.Plan(fabric.HostEnd(0), sentBy(c, 0), fabric.Fault{Harm: fabric.Lost})
		send(t, a, b, id, 1, nil)
		c.RunUntil(c.Now() + p.GRIM.Resend + vtime.Millisecond/2)
		if n := c.Hosts[0].Counts().TimeOuts - before; handled != 2 || n != 1 {
			t.Errorf("growth %d: %d of 2 messages have come, the second after %d time-outs, want one", growth, handled, n)
		}
	}
}

// TestTransitLost takes the cable of an in-transit host away while packets are on their way through it. The senders are told of hosts that
// do not answer, and set routes round it: all messages between the others come, once and in order.
func TestTransitLost(t *testing.T) {
	t.Parallel()
	p := lossy(t, 0)
	p.GRIM.Channels, p.GRIM.Tries = 1, 3
	topo := ring(t)
	c, err := grim.NewCluster(p, grim.Image{TimeOuts: true, ITB: true, Pool: 2}, topo, 1)
	if err != nil {
		t.Fatal(err)
	}
	type way struct{ from, to grim.EndpointID }
	got := map[way]uint32{}
	all, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"test": func(e *grim.Endpoint, m *grim.Message) {
		w := way{m.Source, e.ID()}
		if m.Args[0] != got[w] {
			t.Errorf("message %d from %d to %d, %d was due", m.Args[0], w.from, w.to, got[w])
		}
		got[w]++
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := all[0][0].Lookup("test")
	const n = 20
	for i := range n {
		for from := range all {
			for to := range all {
				send(t, all[from][0], all[to][0], id, uint32(i), pattern(i*20))
			}
		}
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	dead := 0
	for i, h := range c.Hosts {
		if h.Counts().InTransit > c.Hosts[dead].Counts().InTransit {
			dead = i
		}
	}
	without := *topo
	without.Links = slices.DeleteFunc(slices.Clone(topo.Links), func(l fabric.Link) bool {
		return l.Ends[0] == fabric.HostEnd(dead) || l.Ends[1] == fabric.HostEnd(dead)
	})
	table, err := routing.NewTable(&without, routing.Options{Scheme: routing.InTransit, Spread: routing.Balanced})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for from, h := range c.Hosts {
		if from == dead {
			continue
		}
		h.OnUnreachable(func(host int) bool {
			if told++; host != dead {
				if err := c.SetRoutes(table); err != nil {
					t.Error(err)
				}
			}
			return host != dead
		})
	}
	through := c.Hosts[dead].Counts().InTransit
	c.Fabric.FailLink(fabric.HostEnd(dead))
	c.RunUntil(c.Now() + 200*vtime.Millisecond)
	for from := range all {
		for to := range all {
			if k := got[way{all[from][0].ID(), all[to][0].ID()}]; k != n && from != dead && to != dead {
				t.Errorf("%d of %d messages from host %d to host %d", k, n, from, to)
			}
		}
		if err := c.Hosts[from].Leaks(); err != nil && from != dead {
			t.Error(err)
		}
	}
	if most := 2 * len(all); told < len(all) || told > most || through == 0 {
		t.Errorf("told %d times of hosts that do not answer, of %d to %d; %d packets went through the host before", told, len(all), most, through)
	}
}

// TestTimeOutsOff shows what time-outs cost without loss: on a sound network the run with them is the run without, event by event, until
// the timer rings, and that without has no event more, no step and no allocation.
func TestTimeOutsOff(t *testing.T) { // not parallel: it counts allocations
	var sums [2]uint64
	var busy [2]vtime.Time
	for i, image := range []grim.Image{{}, {TimeOuts: true}} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Resend, p.GRIM.Receive = vtime.Second, 256 })
		var trace vtime.Digest
		handled := 0
		c, a, b, id := pair(t, p, image, func(e *grim.Endpoint, _ *grim.Message) { handled++; e.Compute(20 * vtime.Microsecond) })
		c.Trace(&trace)
		for k := range 100 {
			send(t, a, b, id, uint32(k), pattern(k))
		}
		c.RunUntil(vtime.Second / 2)
		if handled != 100 || c.Hosts[0].Counts().Rollbacks == 0 {
			t.Errorf("%+v: %d messages handled", image, handled)
		}
		sums[i], busy[i] = trace.Sum(), c.Hosts[0].NIC().CPU.Counts().Busy
		if image.TimeOuts {
			continue
		}
		if c.Run() != nil || c.Now() > vtime.Second/2 {
			t.Errorf("something happened after all messages had been acknowledged, at %v", c.Now())
		}
		if shm.RaceEnabled {
			continue
		}
		one := func() {
			send(t, a, b, id, 0, nil)
			c.RunUntil(c.Now() + vtime.Millisecond)
		}
		for range 300 {
			one()
		}
		// The message, its bytes, two receive buffers and the ACK: as many as before there were time-outs.
		if n := testing.AllocsPerRun(300, one); n > 5 {
			t.Errorf("%v allocations for a message", n)
		}
	}
	if sums[0] != sums[1] || busy[0] != busy[1] {
		t.Errorf("with time-outs the run is another one: digests %x, the processor works %v", sums, busy)
	}
}

// TestLossRM has three hosts write to, read from and send to each other over cables that lose, damage or cut short one packet in twenty. Each has memory of its own at
// each other one, so that it knows what is there: each operation ends once, writes and reads are in order, and a message comes behind the writes
// before it. Writes to memory that is not registered are refused, also if the refusal is lost.
func TestLossRM(t *testing.T) {
	t.Parallel()
	const size = 4096
	for seed := range uint64(3) {
		p := lossy(t, machine.Certain/60)
		p.GRIM.Channels, p.GRIM.Resend = 2, 500*vtime.Microsecond
		if seed == 1 {
			p.GRIM.Controls = 1 // so that NACKs come late
		}
		chance := rand.New(rand.NewPCG(seed, 1))
		there := map[[2]grim.EndpointID]*grim.Region{}
		type way struct{ from, to grim.EndpointID }
		came := map[way]uint32{}
		marker := func(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
		c, all, id := star(t, p, grim.Image{TimeOuts: true, PerNI: seed == 2}, 3, 2, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
			w := way{m.Source, e.ID()}
			if came[w]++; m.Args[0] != came[w] || marker(there[w2(w.from, w.to)].Bytes()) < m.Args[0] {
				t.Errorf("seed %d: message %d from %d to %d, %d was due, and the mark is %d", seed, m.Args[0], w.from, w.to, came[w], marker(there[w2(w.from, w.to)].Bytes()))
			}
		})
		ends := slices.Concat(all...)
		here := map[grim.EndpointID]*grim.Region{}
		want := map[way][]byte{}
		sent := map[way]uint32{}
		for _, e := range ends {
			here[e.ID()] = register(t, e, make([]byte, 1<<20), grim.Pinned)
			for _, o := range ends {
				there[w2(o.ID(), e.ID())] = register(t, e, make([]byte, size), grim.Contiguous)
				want[way{o.ID(), e.ID()}] = make([]byte, size)
			}
		}
		begun, ended, room := 0, 0, uint64(0)
		done := func(wanted error, check func()) grim.RMOptions {
			begun++
			left := 1
			return grim.RMOptions{Done: func(err error) {
				ended++
				if left--; left != 0 || !errors.Is(err, wanted) || (err == nil) != (wanted == nil) {
					t.Errorf("seed %d: an operation has ended with %v, want %v", seed, err, wanted)
				}
				check()
			}}
		}
		for range 60 {
			for range 6 {
				from, to := ends[chance.IntN(len(ends))], ends[chance.IntN(len(ends))]
				w := way{from.ID(), to.ID()}
				r, model := there[w2(w.from, w.to)], want[w]
				at := 4 + chance.IntN(size/2)
				n := 1 + chance.IntN(size/2-4)
				var err error
				switch chance.IntN(4) {
				case 0:
					data := make([]byte, n)
					for i := range data {
						data[i] = byte(chance.Uint32())
					}
					copy(model[at:], data)
					err = from.Write(w.to, grim.Remote{Key: r.Key(), Offset: uint64(at)}, data, done(nil, func() {}))
				case 1:
					expected, into := slices.Clone(model[at:at+n]), room
					room += uint64(n)
					err = from.Read(w.to, grim.Remote{Key: r.Key(), Offset: uint64(at)}, here[w.from], into, n, done(nil, func() {
						if !bytes.Equal(here[w.from].Bytes()[into:into+uint64(n)], expected) {
							t.Errorf("seed %d: a read has found something else", seed)
						}
					}))
				case 2:
					sent[w]++
					binary.LittleEndian.PutUint32(model, sent[w])
					err = errors.Join(from.Write(w.to, grim.Remote{Key: r.Key()}, model[:4], done(nil, func() {})),
						from.Send(w.to, id, [4]uint32{sent[w]}, nil))
				case 3:
					err = from.Write(w.to, grim.Remote{Key: 0xdead}, model[:8], done(grim.ErrUnregistered, func() {}))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			c.RunUntil(c.Now() + vtime.Time(chance.IntN(300))*vtime.Microsecond)
		}
		c.RunUntil(c.Now() + vtime.Second)
		if ended != begun {
			t.Errorf("seed %d: %d of %d operations have ended", seed, ended, begun)
		}
		for w, model := range want {
			if !bytes.Equal(there[w2(w.from, w.to)].Bytes(), model) || came[w] != sent[w] {
				t.Errorf("seed %d: from %d to %d: %d of %d messages, or something else in memory", seed, w.from, w.to, came[w], sent[w])
			}
		}
		var sum grim.Counts
		for _, h := range c.Hosts {
			n := h.Counts()
			sum.TimeOuts, sum.Duplicate = sum.TimeOuts+n.TimeOuts, sum.Duplicate+n.Duplicate
			if err := h.Leaks(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		if sum.TimeOuts < 10 || sum.Duplicate < 10 {
			t.Errorf("seed %d: too few of something to say anything: %+v", seed, sum)
		}
		if err := c.Run(); err != nil {
			t.Error(err)
		}
	}
}

// w2 is the key of memory of one endpoint's at another.
func w2(from, at grim.EndpointID) [2]grim.EndpointID { return [2]grim.EndpointID{from, at} }

// TestManyAtOnce loses one of more messages than an NI may have under way with time-outs. The receiving NI takes none of those behind
// it for one that it has accepted before: numbers of 8 bits tell these apart as long as fewer than half of them are under way.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := lossy(t, 0)
	p.GRIM.Channels, p.GRIM.Resend = 1, 5*vtime.Millisecond
	got := 0
	c, a, b, id := pair(t, p, grim.Image{TimeOuts: true}, func(_ *grim.Endpoint, m *grim.Message) {
		if int(m.Args[0]) != got {
			t.Errorf("message %d, %d was due", m.Args[0], got)
		}
		got++
	})
	const n = 240
	c.Fabric.Plan(fabric.HostEnd(0), 10, fabric.Fault{Harm: fabric.Lost})
	for i := range uint32(n) {
		send(t, a, b, id, i, nil)
	}
	c.RunUntil(vtime.Second / 4)
	if err := c.Hosts[0].Leaks(); err != nil || got != n {
		t.Errorf("%d of %d messages: %v", got, n, err)
	}
}

// TestSlowLeaving has a message take longer to leave than grim.resend is: its time begins when it has left.
func TestSlowLeaving(t *testing.T) {
	t.Parallel()
	p := lossy(t, 0)
	p.GRIM.Resend, p.GRIM.Tries = 100*vtime.Microsecond, 1
	handled := 0
	c, all, id := star(t, p, grim.Image{TimeOuts: true}, 3, 2, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
	c.Hosts[0].OnUnreachable(func(host int) bool { t.Errorf("host %d counts as unreachable", host); return false })
	send(t, all[0][0], all[1][0], id, 0, make([]byte, 60000)) // 375 µs
	for range 40 {                                            // which set the timer
		send(t, all[0][1], all[2][0], id, 0, nil)
		c.RunUntil(c.Now() + 30*vtime.Microsecond)
	}
	c.RunUntil(c.Now() + 5*vtime.Millisecond)
	if n := c.Hosts[0].Counts(); n.TimeOuts > 0 || handled != 41 {
		t.Errorf("%d messages handled: %+v", handled, n)
	}
}

// TestRepeatedWrite has a write come again while the first waits for the host to translate its address: it is not answered before the bytes are
// there.
func TestRepeatedWrite(t *testing.T) {
	t.Parallel()
	p := lossy(t, 0)
	p.GRIM.Resend, p.Host.Interrupt = 50*vtime.Microsecond, 500*vtime.Microsecond
	c, a, b, _ := pair(t, p, grim.Image{TimeOuts: true}, func(*grim.Endpoint, *grim.Message) {})
	r := register(t, b, make([]byte, 16), grim.Pinned)
	ended := 0
	if err := a.Write(b.ID(), grim.Remote{Key: r.Key()}, pattern(16), grim.RMOptions{Done: func(err error) {
		if ended++; err != nil || !bytes.Equal(r.Bytes(), pattern(16)) {
			t.Errorf("done, with %v, and % x in memory", err, r.Bytes())
		}
	}}); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(5 * vtime.Millisecond)
	if n := c.Hosts[1].Counts(); ended != 1 || n.Duplicate == 0 || n.Misses != 1 {
		t.Errorf("done %d times: %+v", ended, n)
	}
}

// TestRefusalOfBefore loses the answer to a write whose number another one had that was refused.
func TestRefusalOfBefore(t *testing.T) {
	t.Parallel()
	c, a, b, id := pair(t, lossy(t, 0), grim.Image{TimeOuts: true}, func(*grim.Endpoint, *grim.Message) {})
	r := register(t, b, make([]byte, 16), grim.Contiguous)
	var ends []error
	write := func(key grim.Key) {
		if err := a.Write(b.ID(), grim.Remote{Key: key}, pattern(16), grim.RMOptions{Done: func(err error) { ends = append(ends, err) }}); err != nil {
			t.Fatal(err)
		}
		c.RunUntil(c.Now() + 5*vtime.Millisecond)
	}
	write(r.Key() + 1)
	for i := range uint32(255) {
		send(t, a, b, id, i, nil)
	}
	c.RunUntil(c.Now() + 20*vtime.Millisecond)
	c.Fabric.Plan(fabric.HostEnd(1), sentBy(c, 1), fabric.Fault{Harm: fabric.Lost})
	write(r.Key())
	if len(ends) != 2 || !errors.Is(ends[0], grim.ErrUnregistered) || ends[1] != nil || c.Hosts[1].Counts().Duplicate != 1 {
		t.Errorf("the writes have ended with %v; %+v", ends, c.Hosts[1].Counts())
	}
}
