package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestUnchanged has a host look at a byte before and after a Sync, while another one stores there. If
// the host was told that nothing changes, both looks must find the same. On the second machine the next link is so far
// that what has come to the host's site is served after the host's look, unless that has it served.
func TestUnchanged(t *testing.T) {
	t.Run("d339", func(t *testing.T) { unchanged(t, load(t, "d339")) })
	t.Run("far", func(t *testing.T) { unchanged(t, load(t, "d339", "link.hop", "2", "us")) })
}

func unchanged(t *testing.T, profile *hardware.Profile) {
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

// TestForeseen has a host ask whether anything changes that its driver knows, before, while and after something is on its
// way that is no store: an interrupt, what its own engine does, the news of a link that was cut.
func TestForeseen(t *testing.T) {
	profile := load(t, "d339")
	ours, theirs := make([]byte, 4096), make([]byte, 4096)
	for _, c := range []struct {
		what  string
		takes vtime.Time // at least
		begin func(m *hardware.Machine, came *bool)
	}{
		{"the news of a cut link", profile.Error.Detect, func(m *hardware.Machine, came *bool) {
			m.Watch(func(hardware.Event) { *came = true })
			m.SetLink(0, false)
		}},
		{"the end of a DMA queue", profile.Engine.Start, func(m *hardware.Machine, came *bool) {
			read := []hardware.Transfer{{Peer: m.Node(0), Dst: ours, Src: theirs, Read: true}}
			if err := m.Node(1).NewQueue().Post(read, func(hardware.Outcome) { *came = true }); err != nil {
				t.Error(err)
			}
		}},
		{"an interrupt", profile.Interrupt.Latency, nil},
	} {
		came, due := false, 10*vtime.Microsecond
		run(t, profile, 2,
			func(p *vtime.Proc, m *hardware.Machine) {
				if p.Charge(due); c.begin == nil {
					m.Node(0).Interrupt(m.Node(1), arrival{&came}, 0, 0)
				}
			},
			func(p *vtime.Proc, m *hardware.Machine) {
				n := m.Node(1)
				ask := func(when string, want bool) {
					if p.Sync(); n.Unchanged() != want {
						t.Errorf("%s: %s at %v it is known that nothing changes: %v", c.what, when, p.Now(), !want)
					}
				}
				p.Charge(due)
				ask("before,", true)
				if c.begin != nil {
					c.begin(m, &came)
				}
				p.Charge(c.takes / 4 * 3)
				ask("meanwhile,", false)
				for !came {
					p.Charge(vtime.Microsecond)
					p.Sync()
				}
				p.Charge(vtime.Millisecond)
				ask("afterwards,", true)
			})
	}
}

// arrival is what an interrupt's handler notes.
type arrival struct{ came *bool }

func (a arrival) Fire(_, _ uint64) { *a.came = true }
