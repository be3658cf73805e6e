package hardware_test

import (
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestShortMessage plays the published protocol for a short message between two hosts, step by
// step, without the conduit: header, check, ready flag, exist flag; test, clear, scan, dispatch.
// A constant is fitted to the conduit's own time, and the same steps by hand come near it.
func TestShortMessage(t *testing.T) {
	const rounds, header, senders, flagsPerSender, word = 100, 80, 8, 4, 4
	profile := load(t, "d339")
	h := &profile.Host
	scan := vtime.Time(senders*flagsPerSender/word) * h.Scan
	type memory struct {
		command      [header]byte
		ready, exist [1]byte
	}
	var at [2]memory
	var half vtime.Time
	player := func(me int) host {
		return func(p *vtime.Proc, m *hardware.Machine) {
			var a hardware.Account
			n, peer, mine, theirs := m.Node(me), m.Node(1-me), &at[me], &at[1-me]
			send := func() {
				p.Charge(h.Call + h.Build + h.LookUp + h.Slot + h.Sequence)
				n.Start(&a)
				n.Store(peer, theirs.command[:], make([]byte, header), 0, &a, nil)
				p.Charge(h.Sequence)
				if o := n.Check(&a); o != hardware.Delivered {
					t.Errorf("check: %v", o)
				}
				n.Store(peer, theirs.ready[:], []byte{1}, 0, nil, nil)
				n.Store(peer, theirs.exist[:], []byte{1}, 0, nil, peer.Proc())
			}
			receive := func() {
				await(p, h.Test, func() bool { return mine.exist[0] == 1 })
				mine.exist[0] = 0
				p.Charge(h.Clear + scan)
				p.Sync()
				if mine.ready[0] != 1 {
					t.Error("the exist flag overtook the ready flag")
				}
				mine.ready[0] = 0
				p.Charge(h.Clear + h.Enqueue + h.Dispatch)
			}
			for range rounds {
				if me == 0 {
					send()
				}
				receive()
				if me == 1 {
					send()
				}
			}
			if me == 0 {
				half = p.Now() / (2 * rounds)
			}
		}
	}
	run(t, profile, 8, player(0), player(1))
	const near = 0.06
	want := profile.File.Fit("am-short")
	t.Logf("short message: model %.2f us, published %g us", us(half), want.Number())
	if off := us(half)/want.Number() - 1; !(math.Abs(off) <= near) {
		t.Errorf("short message: %.2f us, %.0f%% off %g us", us(half), 100*off, want.Number())
	}
}
