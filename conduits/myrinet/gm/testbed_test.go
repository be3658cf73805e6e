package gm_test

import (
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// allsize returns the half round trips of sizes, one after the other.
func allsize(t testing.TB, p *gm.Profile, image gm.Image, routes func(*gm.Testbed) error, sizes []int) (took []vtime.Time) {
	t.Helper()
	b := testbed(t, p, image, routes)
	for _, size := range sizes {
		d, err := gm.HalfRoundTrip(b.Simulation, b.hosts[0], b.hosts[1], size, 10)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, d)
	}
	return took
}

// sizes are those of one packet, the next by a sixteenth larger: the phases of the dispatcher differ from each to
// the next.
func sizes() (list []int) {
	for n := 1; n <= 4096; n += 1 + n/16 {
		list = append(list, n)
	}
	return list
}

// mean returns the mean of what b has more than a, and the largest, in ns.
func mean(a, b []vtime.Time) (sum, largest float64) {
	for i := range a {
		d := float64(b[i]-a[i]) / float64(vtime.Nanosecond)
		sum += d / float64(len(a))
		largest = max(largest, d)
	}
	return sum, largest
}

// TestOverhead compares the two images on the testbed: what in-transit support costs everybody.
func TestOverhead(t *testing.T) {
	t.Parallel()
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	p := profile(t, nil)
	without := allsize(t, p, gm.Image{}, (*gm.Testbed).UpDown, sizes())
	with := allsize(t, p, gm.Image{ITB: true}, (*gm.Testbed).UpDown, sizes())
	near(t, "half round trip of a short message, in ns", float64(without[0]/vtime.Nanosecond), 12500, 0.02)
	average, largest := mean(without, with)
	t.Logf("mean %.1f ns, at most %.1f ns", average, largest)
	near(t, "mean overhead, in ns", average, 125, 0.02)
	if largest > 300 {
		t.Errorf("the overhead is up to %g ns, and never above 300 in the paper", largest)
	}
	// It is the packet's, not the message's.
	const packets = 16
	long := []int{packets * 4096}
	average, _ = mean(allsize(t, p, gm.Image{}, (*gm.Testbed).UpDown, long), allsize(t, p, gm.Image{ITB: true}, (*gm.Testbed).UpDown, long))
	if average < 4*125 {
		t.Errorf("%g ns more for %d packets", average, packets)
	}
}

func near(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got/want-1) > within {
		t.Errorf("%s: %g, want %g ± %g %%", what, got, want, 100*within)
	}
}

// itbCost is the mean cost of an in-transit buffer, in ns, by the paper's formula: only one direction has it.
func itbCost(t testing.TB, p *gm.Profile, image gm.Image, sizes []int) float64 {
	t.Helper()
	average, _ := mean(allsize(t, p, image, (*gm.Testbed).Looped, sizes), allsize(t, p, image, (*gm.Testbed).InTransit, sizes))
	return 2 * average
}

// TestITBCost has the cost of an in-transit buffer, and what it depends on.
func TestITBCost(t *testing.T) {
	t.Parallel()
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	itb, bySend := gm.Image{ITB: true}, gm.Image{ITB: true, Transit: transit.Options{BySend: true}}
	p := profile(t, nil)
	near(t, "mean cost of an in-transit buffer, in ns", itbCost(t, p, itb, sizes()), 1300, 0.02)

	some := []int{200, 333, 512, 700, 1111, 2048, 3001}
	base := itbCost(t, p, itb, some)
	for _, c := range []struct {
		name, value, unit string
		least             float64 // that it costs more, in ns
	}{
		{"cpu.instruction", "33", "MHz", 800}, {"fabric.link.rate", "20", "MB/s", 100}, {"dispatcher.dispatch", "40", "count", 300},
		{"itb.program", "200", "count", 1000}, {"fabric.switch.lan", "600", "ns", -50},
	} {
		more := itbCost(t, with(t, c.name, c.value, c.unit), itb, some) - base
		if more < c.least || c.least < 0 && more > 50 {
			t.Errorf("with %s %s %s an in-transit buffer costs %.0f ns more than %.0f", c.name, c.value, c.unit, more, base)
		}
	}
	// Re-injection by Send takes another dispatch, and the test of the flag.
	dispatch := p.CPU.Instruction.Time(p.Code.Poll + p.Code.Dispatch + p.ITB.Test)
	near(t, "by Send, in ns", itbCost(t, p, bySend, some)-base, float64(dispatch/vtime.Nanosecond), 0.2)
}
