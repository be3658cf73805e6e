package am2_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// TestLossAndHole has many payloads go over a path that loses a quarter of all datagrams, and a
// few over one that swallows the long ones. Send is told of many losses in vain only there.
func TestLossAndHole(t *testing.T) {
	const suspicious = 6
	for _, c := range []struct {
		name    string
		letters int
		hole    bool
	}{{"loss", 400, false}, {"hole", 1, true}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, am2.Defaults())
			p.w.mtu = 1400
			random := rand.New(rand.NewPCG(1, 2))
			p.w.fate = func(_, _ *node, d []byte) []time.Duration {
				if c.hole && len(d) > 1000 || !c.hole && random.IntN(4) == 0 {
					return nil
				}
				return []time.Duration{propagation}
			}
			posted := 0
			p.x.step = func() {
				for posted < c.letters && p.post(letter{id: uint32(posted), kind: am2.Medium, nargs: 1, size: 20_000}) {
					posted++
				}
			}
			p.w.push(event{at: 1, to: p.x, from: p.y, data: []byte{0}})
			p.w.until(time.Hour, func() bool {
				return c.hole && p.w.times >= suspicious || len(p.arrived) == c.letters
			})
			if got := p.w.times >= suspicious; got != c.hole {
				t.Errorf("told of %d transmissions in vain", p.w.times)
			}
		})
	}
}
