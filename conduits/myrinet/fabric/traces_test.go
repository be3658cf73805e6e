package fabric_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// busy returns a network at work: random traffic, damage by chance, a switch that fails, and a time limit.
func busy(t *testing.T, seed uint64) *bed {
	t.Helper()
	topo, err := fabric.Shape{Hosts: 2}.Random(6, seed)
	if err != nil {
		t.Fatal(err)
	}
	c := constants(t)
	c.Limit.Time = 20 * vtime.Microsecond
	c.Error.Corrupt, c.Error.Lose, c.Error.Truncate = machine.Certain/50, machine.Certain/50, machine.Certain/50
	b := newBed(t, topo, c)
	packets := walks(topo, rand.New(rand.NewPCG(seed, 2)), 30, 600)
	for h, nic := range b.nics {
		s := &source{bed: b, nic: nic, packets: packets[h]}
		nic.gone = s.again
		s.again()
	}
	b.at(20*vtime.Microsecond, func() { b.f.FailSwitch(1) })
	b.at(60*vtime.Microsecond, func() { b.f.RepairSwitch(1) })
	return b
}

// trace runs a network, and returns a number of all that its hosts have seen, when they saw it, and of all events.
func (b *bed) trace(t *testing.T) uint64 {
	var d vtime.Digest
	b.Trace(&d)
	err := b.Run()
	sum := fnv.New64a()
	fmt.Fprintln(sum, d.Sum(), b.f.Counts(), err)
	for _, n := range b.nics {
		fmt.Fprintln(sum, n.log)
	}
	if n := b.f.Counts(); n.Delivered < 100 || n.BadCRC == 0 || n.Lost == 0 || n.Failed == 0 {
		t.Errorf("the network has not been at work: %+v", n)
	}
	return sum.Sum64()
}

// TestTraces runs networks with whatever number of processors, several at once: equal seeds give equal traces, and
// others give others.
func TestTraces(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	want := make(map[uint64]uint64)
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		var sums [8]uint64
		var all sync.WaitGroup
		for i := range sums {
			b := busy(t, uint64(i%2))
			all.Go(func() { sums[i] = b.trace(t) })
		}
		all.Wait()
		for i, sum := range sums {
			seed := uint64(i % 2)
			if _, known := want[seed]; !known {
				want[seed] = sum
			}
			if sum != want[seed] {
				t.Errorf("%d processors, seed %d: trace %x, the first was %x", procs, seed, sum, want[seed])
			}
		}
	}
	if want[0] == want[1] {
		t.Error("two seeds give one trace")
	}
}
