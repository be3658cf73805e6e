package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// way returns how long the bytes of one packet take over a route on which nothing else is:
// the wire once, every link's latency, and the turns between rings.
func way(p *hardware.Profile, links []int, turns vtime.Time, data machine.Bytes) vtime.Time {
	return wire(p, data) + vtime.Time(len(links))*p.Link.Hop + turns
}

// wire returns how long a packet with so much data, in a size that needs no filling, takes up
// a link.
func wire(p *hardware.Profile, data machine.Bytes) vtime.Time {
	return p.Link.Rate.Time(int(p.Packet.Header + p.Packet.CRC + data))
}

// bus returns how long a write burst of 64 bytes takes.
func bus(p *hardware.Profile) vtime.Time {
	return p.Bus.Clock.Time(p.Bus.Write + 64/p.Bus.Width)
}

// TestAlone has one host store 64 bytes at each of the others, with nothing else in the
// machine: when they can be seen, and when the check is over, is the sum of the constants.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		profile *hardware.Profile
		nodes   int
		turn    func(from, to int) (turns, cables int) // the request's way, and the answer's
	}{
		{load(t, "d339"), 2, straight},
		{load(t, "d339"), 20, func(i, j int) (int, int) { return torusTurns(i, j, 5), 0 }},
		{load(t, "d339", "topology.shape", "ring", "word"), 9, straight},
		{load(t, "ntb"), 6, func(int, int) (int, int) { return 1, 0 }},
		{load(t, "scale"), 8, func(int, int) (int, int) { return 1, 0 }},
		{load(t, "scale"), 9, func(int, int) (int, int) { return 2, 1 }},
		{load(t, "scale", "topology.radix", "2", "count"), 16, func(int, int) (int, int) { return 4, 3 }},
		{load(t, "scale", "topology.width", "3", "count"), 30, func(i, j int) (int, int) {
			if i/3 == j/3 {
				return 0, 0
			}
			return 2, 1 // 10 ports on switches of 8
		}},
	} {
		p := c.profile
		for from := range c.nodes {
			for to := range c.nodes {
				if from == to {
					continue
				}
				seen, checked, m := alone(t, p, c.nodes, from, to)
				request, answer := m.Route(from, to)
				n, cables := c.turn(from, to)
				turns := vtime.Time(n)*p.Link.Turn + vtime.Time(cables)*p.Link.Hop
				stored := 8 * p.PIO.Word
				accepted := stored + bus(p) + p.Adapter.Send + p.Adapter.Forward +
					way(p, request, turns, 64) + p.Adapter.Accept + p.Adapter.Receive
				if want := accepted + bus(p) + p.Memory.Visible; seen != want {
					t.Errorf("%s, %d to %d of %d: seen at %v, want %v", p.File.Name, from, to, c.nodes, seen, want)
				}
				answered := accepted + way(p, answer, turns, 0) + p.Adapter.Answer
				if want := max(answered, stored+p.PIO.Flush) + p.PIO.Status; checked != want {
					t.Errorf("%s, %d to %d of %d: checked at %v, want %v", p.File.Name, from, to, c.nodes, checked, want)
				}
			}
		}
	}
}

// straight is the way along one ring: no turn onto another, and no cable between switches.
func straight(int, int) (turns, cables int) { return 0, 0 }

// torusTurns returns how often the way between two hosts of a torus goes onto another ring.
func torusTurns(from, to, width int) int {
	if from%width != to%width && from/width != to/width {
		return 1
	}
	return 0
}

// alone returns when a store is seen at its target and when its check is over.
func alone(t *testing.T, profile *hardware.Profile, nodes, from, to int) (seen, checked vtime.Time, m *hardware.Machine) {
	memory := make([]byte, 64)
	hosts := make([]host, nodes)
	hosts[from] = func(p *vtime.Proc, m *hardware.Machine) {
		var a hardware.Account
		m.Node(from).Store(m.Node(to), memory, make([]byte, 64), 0, &a, m.Node(to).Proc())
		m.Node(from).Check(&a)
		checked = p.Now()
	}
	hosts[to] = func(p *vtime.Proc, _ *hardware.Machine) {
		p.Park(0)
		seen = p.Now()
	}
	m = run(t, profile, nodes, hosts...)
	return seen, checked, m
}
