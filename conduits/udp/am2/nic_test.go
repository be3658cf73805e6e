package am2_test

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// nicConfig is a bundle as firmware of a NIC has it.
func nicConfig() am2.Config {
	c := am2.Defaults()
	c.Inline, c.Fragment, c.Unpaced = 256, 1024, true
	c.Pack, c.Datagram = 512, 1472
	return c
}

// TestInline has a message leave as a packet of its own when it is committed, though others are under way: the mediums as such up to
// Inline, and what is longer in fragments of Fragment bytes.
func TestInline(t *testing.T) {
	const shorts, long = 12, 40_000
	for _, c := range []struct {
		name   string
		change func(*am2.Config)
		size   int
		sent   int // datagrams, of shorts messages of size bytes and, last, a Long
	}{
		{"a packet for each message", func(*am2.Config) {}, 256, shorts + 40},
		{"and fragments beyond Inline", func(*am2.Config) {}, 257, shorts + 40},
		{"without Inline they share packets", func(c *am2.Config) { c.Inline = 0 }, 16, 2 + 40},
		{"without Fragment datagrams are full", func(c *am2.Config) { c.Fragment = 0 }, 0, shorts + 30},
		{"without Unpaced the first ones open a window", func(c *am2.Config) { c.Unpaced = false }, 0, shorts + 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := nicConfig()
			c.change(&cfg)
			p := newPair(t, cfg)
			p.hy.arrived = nil
			var fragments int
			p.w.fate = func(_, _ *node, d []byte) []time.Duration {
				if k, ok := am2.FragmentKind(d); ok {
					fragments++
					if n, _ := am2.HeadLen(d); cfg.Fragment > 0 && len(d)-n > cfg.Fragment {
						t.Errorf("a fragment of %d bytes", len(d)-n)
					}
					if want := am2.Medium; c.size <= 256 && k == want {
						t.Errorf("a Medium of %d bytes in fragments", c.size)
					}
				}
				return []time.Duration{propagation}
			}
			for i := range shorts {
				x := letter{id: uint32(i), kind: am2.Medium, nargs: 1, size: c.size}
				p.post(x)
			}
			p.post(letter{id: shorts, kind: am2.Long, nargs: 1, size: long})
			if p.w.sent != c.sent {
				t.Errorf("%d datagrams, want %d", p.w.sent, c.sent)
			}
			if fragments == 0 {
				t.Error("no fragments")
			}
			got := 0
			p.hy.arrived = func(*am2.Message) bool { got++; return false }
			p.w.until(limit, func() bool { return got == shorts+1 && p.w.quiet() })
		})
	}
}
