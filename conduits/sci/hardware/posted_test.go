package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestTryCheck compares asking for the answers, and parking until they come, with the store
// barrier: over good links and bad ones it finds the same outcomes, not before the answers are
// there, and without stalling for them.
func TestTryCheck(t *testing.T) {
	for _, changes := range [][]string{nil, {"error.busy", "300000", "ppm"}, {"error.lost", "300000", "ppm"}} {
		outcomes := func(check func(*vtime.Proc, *hardware.Node, *hardware.Account) hardware.Outcome) (found []hardware.Outcome, answered []vtime.Time) {
			run(t, load(t, "d339", changes...), 2, func(p *vtime.Proc, m *hardware.Machine) {
				n, to, memory := m.Node(0), m.Node(1), make([]byte, 300)
				for i := range 30 {
					var a hardware.Account
					p.Charge(vtime.Millisecond - p.Now()%vtime.Millisecond)
					n.Store(to, memory[:10*(i+1)], memory[:10*(i+1)], 0, &a, nil)
					found = append(found, check(p, n, &a))
					answered = append(answered, p.Now()%vtime.Millisecond)
				}
			})
			return found, answered
		}
		want, barrier := outcomes(func(_ *vtime.Proc, n *hardware.Node, a *hardware.Account) hardware.Outcome { return n.Check(a) })
		asked, asleep := 0, vtime.Time(0)
		got, asking := outcomes(func(p *vtime.Proc, n *hardware.Node, a *hardware.Account) hardware.Outcome {
			for {
				before := p.Arrivals
				asked++
				if o, known := n.TryCheck(a); known {
					return o
				}
				if start := p.Now(); p.Arrivals == before {
					p.Park(0)
					asleep += p.Now() - start
				}
			}
		})
		profile := load(t, "d339")
		once := profile.PIO.Flush + profile.PIO.Status
		for i := range want {
			if got[i] != want[i] || asking[i] < barrier[i]-once || asking[i] > barrier[i]+once {
				t.Errorf("%v, store %d: %v after %v by asking, %v after %v by the barrier", changes, i, got[i], asking[i], want[i], barrier[i])
			}
		}
		if asked < 2*len(want) || asleep == 0 {
			t.Errorf("%v: asked %d times about %d stores, slept %v", changes, asked, len(want), asleep)
		}
	}
}

// TestReadsBehindWrites reads what was stored as soon as that is answered, which is before the
// host's own processor would find it in memory.
func TestReadsBehindWrites(t *testing.T) {
	for _, machine := range []string{"d339", "ntb"} {
		memory, word := make([]byte, 8), uint32(0)
		run(t, load(t, machine, "pio.return", "1", "ns"), 2, func(_ *vtime.Proc, m *hardware.Machine) {
			n, to := m.Node(0), m.Node(1)
			for i := range byte(10) {
				var a hardware.Account
				n.Store(to, memory, []byte{0, i, 0, 0, 0, 0, 0, 0}, 0, &a, nil)
				got := make([]byte, 8)
				if o := n.Check(&a); o != hardware.Delivered {
					t.Fatal(o)
				}
				if n.Load(to, got, memory, 0); got[1] != i {
					t.Errorf("%s: stored %d, loaded %d", machine, i, got[1])
				}
				if old, _ := n.FetchAdd(to, &word, 1); old != uint32(i) {
					t.Errorf("%s: fetched %d, want %d", machine, old, i)
				}
			}
		})
	}
}
