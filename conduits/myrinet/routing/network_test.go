package routing_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// newNetwork returns a fabric with ideal hosts.
func newNetwork(t testing.TB, table *routing.Table, size int) (*vtime.Simulation, *routing.Hosts) {
	t.Helper()
	c, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	c.Limit.Time = 0
	s := vtime.NewSimulation(1)
	f, err := fabric.New(&s.Loop, table.Topology(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s, routing.NewHosts(f, table, size)
}

// TestDeadlock has all hosts of a network send much at once. On the shortest ways packets wait for each other in a
// circle, as Check says they may; on those that it accepts all arrive.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Ring(6)
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []routing.Scheme{routing.Shortest, routing.UpDown, routing.InTransit} {
		table := table(t, topo, routing.Options{Scheme: scheme})
		s, n := newNetwork(t, table, 500)
		const packets = 30
		for h := range topo.Hosts {
			for range packets {
				n.Send(h, (h+5)%12) // two or three switches on: to the host of another one
			}
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		waits := n.Fabric().Waits()
		if routing.Check(table, false) == nil {
			if n.Arrived() != packets*12 || n.Fabric().InFlight() != 0 || len(waits) > 0 {
				t.Errorf("%v: %d of %d packets have come", scheme, n.Arrived(), packets*12)
			}
			continue
		}
		if n.Arrived() == packets*12 || len(waits) < 3 {
			t.Errorf("%v: %d packets have come, %d wait", scheme, n.Arrived(), len(waits))
		}
		var cycle *routing.CycleError
		if !errors.As(routing.Check(table, false), &cycle) {
			t.Fatal("no circle is found")
		}
		// Each channel of the circle is one that a packet waits for.
		for _, c := range cycle.Channels {
			from, _ := routing.Ends(topo, c)
			waited := false
			for _, w := range waits {
				waited = waited || w.For == from
			}
			if !waited {
				t.Errorf("no packet waits for %s, which is in the circle that was found: %+v", topo.EndName(from), waits)
			}
		}
	}
}

// TestTransit has packets cross hosts in transit, all of which arrive, under any load.
func TestTransit(t *testing.T) {
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Random(12, 4)
	if err != nil {
		t.Fatal(err)
	}
	s, n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit, Spread: routing.Balanced}), 100)
	all := uint64(0)
	for from := range topo.Hosts {
		for to := range topo.Hosts {
			if to != from {
				n.Send(from, to)
				all++
			}
		}
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if n.Arrived() != all || n.Fabric().InFlight() != 0 {
		t.Errorf("%d of %d packets have come", n.Arrived(), all)
	}
}

// TestTransitTime has a NIC take time for packets in transit, one at a time, which come before what the host sends itself.
func TestTransitTime(t *testing.T) {
	t.Parallel()
	topo := figure1(t)
	host := func(name string) int {
		h, ok := topo.Host(name)
		if !ok {
			t.Fatalf("no host %s", name)
		}
		return h
	}
	h0, h1, h4, h6 := host("h0"), host("h1"), host("h4"), host("h6")
	// times returns when the packets from h4 to h1 come, all in transit at h6.
	times := func(delay vtime.Time, packets int, own bool) (all []vtime.Time) {
		s, n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit}), 32)
		n.SetTransit(delay)
		n.Observe(func(from, to int, sent vtime.Time) {
			if sent != 0 {
				t.Errorf("sent at %v", sent)
			}
			if from == h4 && to == h1 {
				all = append(all, s.Now())
			}
		})
		for range packets {
			n.Send(h4, h1)
		}
		for range 20 {
			if own {
				n.Send(h6, h0)
			}
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if len(all) != packets {
			t.Fatalf("%d of %d packets have come", len(all), packets)
		}
		if delay > 0 && n.MostTransit() != packets {
			t.Errorf("%d packets were in transit at once, not %d", n.MostTransit(), packets)
		}
		return all
	}
	const (
		byteTime = 6250 * vtime.Picosecond
		delay    = 2 * vtime.Microsecond // far more than a packet takes
	)
	at, later := times(0, 3, false), times(delay, 3, false)
	if d := later[0] - at[0]; d != delay-byteTime { // without a delay the NIC still waits for the second byte, the first that it sends on
		t.Errorf("a packet in transit takes %v more, not %v", d, delay-byteTime)
	}
	if d := later[2] - later[1]; d != delay {
		t.Errorf("packets in transit come %v one after the other, not %v", d, delay)
	}
	// A packet of its own is sent at most before each of those in transit.
	const packet = 45 * byteTime
	if busy := times(0, 3, true); busy[2] > at[2]+3*packet {
		t.Errorf("the last packet in transit comes at %v where the host has packets of its own, else at %v", busy[2], at[2])
	}
}

// TestShortTransit has a packet in transit cut off behind the byte that says so: nothing of it is left to send on.
func TestShortTransit(t *testing.T) {
	t.Parallel()
	topo := figure1(t)
	s, n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit}), 100)
	h1, _ := topo.Host("h1")
	h4, _ := topo.Host("h4")
	n.Fabric().Plan(fabric.SwitchEnd(6, 7), 0, fabric.Fault{Harm: fabric.Cut, Byte: 1})
	n.Send(h4, h1)
	n.Send(h4, h1)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if c := n.Fabric().Counts(); n.Arrived() != 1 || c.Cut != 1 || c.BadCRC != 1 || n.Fabric().InFlight() != 0 {
		t.Errorf("%d packets have come, %+v", n.Arrived(), c)
	}
}

// TestSaturateApart has a host that no other reaches: the others go on sending to each other.
func TestSaturateApart(t *testing.T) {
	t.Parallel()
	topo := figure1(t)
	topo.AddHost("alone")
	s, n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit}), 100)
	n.Saturate()
	s.RunUntil(vtime.Millisecond)
	before := n.Fabric().Traffic()
	s.RunUntil(2 * vtime.Millisecond)
	for i, load := range n.Fabric().Traffic() {
		if load.From.Host && load.Packets == before[i].Packets {
			t.Errorf("%s sends no more", topo.EndName(load.From))
		}
	}
}

// cpuTime returns how many seconds of processor time the process has used: on a machine that others use too, that says
// more than the time on the clock.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkSaturation runs 64 switches with 256 hosts, as the published studies have them, with more traffic than they
// take. A packet-hop is a packet that has crossed a cable.
func BenchmarkSaturation(b *testing.B) {
	for _, scheme := range []routing.Scheme{routing.UpDown, routing.InTransit} {
		for _, size := range []int{32, 512, 1024} {
			b.Run(scheme.String()+"/"+map[int]string{32: "32", 512: "512", 1024: "1024"}[size], func(b *testing.B) {
				topo, err := fabric.Shape{Hosts: 4}.Random(64, 1)
				if err != nil {
					b.Fatal(err)
				}
				s, n := newNetwork(b, table(b, topo, routing.Options{Scheme: scheme, Spread: routing.Balanced}), size)
				n.Saturate()
				s.RunUntil(200 * vtime.Microsecond)
				before := s.Events()
				start := s.Now()
				arrived := n.Arrived()
				crossed := func() (all uint64) {
					for _, load := range n.Fabric().Traffic() {
						all += load.Packets
					}
					return all
				}
				c, used := crossed(), cpuTime()
				b.ResetTimer()
				for range b.N {
					s.RunUntil(s.Now() + 10*vtime.Microsecond)
				}
				b.StopTimer()
				used = cpuTime() - used
				real := b.Elapsed().Seconds()
				hop := float64(crossed() - c)
				b.ReportMetric(real/(float64(s.Now()-start)/1e12), "slower")
				b.ReportMetric(hop/real/1e6, "Mhops/s")
				b.ReportMetric(hop/used/1e6, "Mhops/CPU-s")
				b.ReportMetric(float64(s.Events()-before)/hop, "events/hop")
				b.ReportMetric(float64(n.Arrived()-arrived)*float64(size)*1e3/float64(s.Now()-start), "B/ns")
			})
		}
	}
}

// TestAllocations has a saturated network allocate nothing once it has run for a while.
func TestAllocations(t *testing.T) {
	topo, err := fabric.Shape{Hosts: 2}.Random(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, n := newNetwork(t, table(t, topo, routing.Options{Scheme: routing.InTransit}), 300)
	n.Saturate()
	s.RunUntil(3 * vtime.Millisecond)
	before := n.Arrived()
	if got := testing.AllocsPerRun(20, func() { s.RunUntil(s.Now() + 20*vtime.Microsecond) }); got > 1 || n.Arrived() < before+500 {
		t.Errorf("%v allocations in 20 µs, %d packets came in all", got, n.Arrived()-before)
	}
}

// TestNegativeTransitTime wants a negative time for packets in transit refused where it is set.
func TestNegativeTransitTime(t *testing.T) {
	_, n := newNetwork(t, table(t, figure1(t), routing.Options{Scheme: routing.InTransit}), 32)
	defer func() {
		if r := recover(); !strings.Contains(fmt.Sprint(r), "0 or more") {
			t.Errorf("a negative time: %v", r)
		}
	}()
	n.SetTransit(-1)
}
