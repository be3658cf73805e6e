package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestUnchanged has a host look at a byte before and after a Sync, while another one stores there. If
// the host was told that nothing changes, both looks must find the same.
func TestUnchanged(t *testing.T) {
	profile := load(t, "d339")
	visible := profile.Memory.Visible
	memory := make([]byte, 1)
	var known, changed int
	run(t, profile, 2,
		func(p *vtime.Proc, m *hardware.Machine) {
			for i := range 200 {
				m.Node(0).Store(m.Node(1), memory, []byte{byte(i)}, 0, nil, nil)
				p.Charge(700*vtime.Nanosecond + vtime.Time(i%50)*11*vtime.Nanosecond)
			}
			p.Sync()
		},
		func(p *vtime.Proc, m *hardware.Machine) {
			n := m.Node(1)
			if p.Charge(visible); n.Unchanged() {
				t.Errorf("it is known what is there after %v, which something can take that is not on its way yet", visible)
			}
			for i := range 2000 {
				p.Sync()
				before := memory[0]
				p.Charge(1 + vtime.Time(i%31)*visible/20)
				unchanged := n.Unchanged()
				switch p.Sync(); {
				case memory[0] != before && unchanged:
					t.Fatalf("at %v the byte became %d from %d unforeseen", p.Now(), memory[0], before)
				case memory[0] != before:
					changed++
				case unchanged:
					known++
				}
			}
		})
	if known < 500 || changed < 50 {
		t.Errorf("it was known %d times that nothing changes, and it changed %d times", known, changed)
	}
}
