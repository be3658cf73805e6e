package hardware_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestNotWokenForNothing has hosts store to each other at random and wait for the answers, once with
// flags that tell whoever they come to, once with none that does. Nobody waits for a flag, so all times
// must be the same, and so must the number of events but for the landings that tell: a host that waits for answers is not woken.
func TestNotWokenForNothing(t *testing.T) {
	const hosts, sequences = 6, 12
	scarce := []string{"pio.outstanding", "2", "count", "adapter.buffers", "1", "count"}
	errors := append([]string{"error.busy", "100000", "ppm", "error.lost", "20000", "ppm"}, scarce...)
	for name, profile := range map[string]*hardware.Profile{
		"d339": load(t, "d339"), "scale": load(t, "scale"), "scarce": load(t, "d339", scarce...), "errors": load(t, "d339", errors...),
	} {
		for seed := range uint64(15) {
			play := func(tells bool) (times []vtime.Time, events, arrivals uint64) {
				all := make([]host, hosts)
				memory := make([]byte, 200)
				for i := range all {
					all[i] = func(p *vtime.Proc, m *hardware.Machine) {
						random := rand.New(rand.NewPCG(seed, uint64(i)))
						var a hardware.Account
						for range sequences {
							p.Charge(vtime.Time(random.IntN(3)) * vtime.Microsecond)
							for range 1 + random.IntN(3) {
								to := m.Node((i + 1 + random.IntN(hosts-1)) % hosts)
								told := to.Proc()
								if !tells {
									told = nil
								}
								n := 1 + random.IntN(len(memory))
								m.Node(i).Store(to, memory[:n], memory[:n], 0, &a, told)
							}
							o := m.Node(i).Check(&a)
							times = append(times, p.Now(), vtime.Time(o))
						}
						p.Charge(vtime.Millisecond) // until all has come
						p.Sync()
						arrivals, events = arrivals+p.Arrivals, p.Kernel().Events()
					}
				}
				run(t, profile, hosts, all...)
				return times, events, arrivals
			}
			told, events, arrivals := play(true)
			untold, fewest, answers := play(false)
			switch {
			case !slices.Equal(told, untold):
				t.Errorf("%s, seed %d: times and outcomes\n%v with flags\n%v without", name, seed, told, untold)
			case events-arrivals != fewest-answers:
				t.Errorf("%s, seed %d: %d events and %d arrivals with flags, %d and %d without", name, seed, events, arrivals, fewest, answers)
			case arrivals < hosts*sequences:
				t.Errorf("%s, seed %d: only %d arrivals", name, seed, arrivals)
			}
		}
	}
}

// TestEventsOfAStore pins the events of a store that is checked, with nothing else in the machine: those of the
// sites that serve its packet and its answer, that of its landing, of which nobody else at that host would know, and
// the wake-up of its CPU. Whoever changes them changes what every modelled message costs the host.
func TestEventsOfAStore(t *testing.T) {
	for _, c := range []struct {
		machine   string
		nodes, to int
		want      uint64
	}{{"scale", 512, 1, 4}, {"scale", 65536, 65535, 4}, {"d339", 8, 1, 6}} {
		t.Run(fmt.Sprintf("%s-%d", c.machine, c.nodes), func(t *testing.T) {
			memory := make([]byte, 8)
			var events uint64
			run(t, load(t, c.machine), c.nodes, func(p *vtime.Proc, m *hardware.Machine) {
				var a hardware.Account
				m.Node(0).Store(m.Node(c.to), memory, memory, 0, &a, nil)
				m.Node(0).Check(&a)
				p.Charge(vtime.Millisecond)
				p.Sync()
				events = p.Kernel().Events() - 2 // the host's first turn and its last
			})
			if events != c.want {
				t.Errorf("%d events, want %d", events, c.want)
			}
		})
	}
}
