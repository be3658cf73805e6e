package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestLandings has a host store to another one that sleeps. What lands there needs few events, since nobody looks, and few
// packets, since some events do happen. The other host finds all of it when it wakes.
func TestLandings(t *testing.T) {
	const stores = 10_000
	memory := make([]byte, stores)
	var events uint64
	grown := grows(func() {
		run(t, load(t, "scale"), 2,
			func(p *vtime.Proc, m *hardware.Machine) {
				for i := range memory {
					m.Node(0).Store(m.Node(1), memory[i:i+1], []byte{1}, i, nil, nil)
					p.Charge(100 * vtime.Microsecond)
					p.Sync()
				}
				events = p.Kernel().Events()
				m.Node(0).Store(m.Node(1), memory[:1], []byte{2}, 0, nil, m.Node(1).Proc())
				p.Charge(vtime.Millisecond)
			},
			func(p *vtime.Proc, _ *hardware.Machine) {
				p.Park(0)
				for i, b := range memory {
					if want := byte(1); b != want && i > 0 || memory[0] != 2 {
						t.Fatalf("byte %d is %d", i, b)
					}
				}
			})
	})
	if each := float64(events) / stores; each > 5 {
		t.Errorf("%v events for a store, want its sites' and little more", each)
	}
	if grown > 500_000 {
		t.Errorf("%d bytes for %d stores", grown, stores)
	}
}
