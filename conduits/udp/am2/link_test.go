package am2_test

import (
	"hash/fnv"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// bottleneck is a link with a rate and a queue that drops what it has no room for.
type bottleneck struct {
	perByte time.Duration
	queue   time.Duration // of what it sends in that time
	delay   time.Duration
	busy    map[*node]time.Duration // until when, by sender
	drops   int
}

func (l *bottleneck) fate(w *world) func(from, to *node, d []byte) []time.Duration {
	l.busy = make(map[*node]time.Duration)
	return func(from, _ *node, d []byte) []time.Duration {
		start := max(w.now, l.busy[from])
		if start-w.now > l.queue {
			l.drops++
			return nil
		}
		l.busy[from] = start + time.Duration(len(d))*l.perByte
		return []time.Duration{l.busy[from] - w.now + l.delay}
	}
}

// stream sends Longs of 1 MB, lent, for so long, and returns how many bytes arrived.
func stream(t *testing.T, p *pair, d time.Duration) (bytes int) {
	src := make([]byte, 1<<20)
	p.hy.arrived = func(m *am2.Message) bool { bytes += m.Len; return false }
	p.x.step = func() {
		for p.x.b.Unacknowledged() < 2000 {
			op := am2.Op{Kind: am2.Long, Len: len(src), Src: src}
			if p.ex.Reserve(&op) != am2.Reserved {
				break
			}
			p.ex.Commit(&op)
		}
	}
	p.w.until(d+time.Second, func() bool { return p.w.now >= d })
	return bytes
}

// TestFillsLink streams over bottlenecks: most of the rate is used.
func TestFillsLink(t *testing.T) {
	for _, c := range []struct {
		name string
		link bottleneck
		mtu  int
		time time.Duration
		part float64
	}{
		{"1 Gbit/s, 0.2 ms", bottleneck{perByte: 8, queue: time.Millisecond, delay: 100 * time.Microsecond}, 1472, time.Second, 0.85},
		{"1 Gbit/s, 4 ms", bottleneck{perByte: 8, queue: 2 * time.Millisecond, delay: 2 * time.Millisecond}, 1472, 2 * time.Second, 0.8},
		{"8 Gbit/s, 0.05 ms", bottleneck{perByte: 1, queue: 2 * time.Millisecond, delay: 25 * time.Microsecond}, 8972, time.Second, 0.85},
		{"10 Mbit/s, 20 ms", bottleneck{perByte: 800, queue: 50 * time.Millisecond, delay: 10 * time.Millisecond}, 1472, 10 * time.Second, 0.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			if raceEnabled {
				c.time /= 4
			}
			p := newPair(t, am2.Defaults())
			p.w.mtu = c.mtu
			p.w.fate = c.link.fate(p.w)
			got := stream(t, p, c.time)
			used := float64(time.Duration(got)*c.link.perByte) / float64(c.time)
			s := p.x.b.Stats()
			t.Logf("%.2f of the link, %d dropped, %d of %d retransmitted, %d acks", used, c.link.drops, s.Retransmissions, s.Sent, p.y.b.Stats().Acks)
			if used < c.part && !raceEnabled {
				t.Errorf("%.2f of the link was used", used)
			}
		})
	}
}

// TestLossyStream streams over a path that loses packets at random: it gets on.
func TestLossyStream(t *testing.T) {
	for _, c := range []struct {
		loss  float64
		least int // bytes in a second, of 40 MB
	}{
		{0.01, 30 << 20}, {0.1, 25 << 20}, {0.5, 100 << 10},
	} {
		r := newRoute(40e6, time.Millisecond)
		r.loss = c.loss
		got, w := r.transfer(t, 1, 0, time.Second)
		s := w.nodes[0].b.Stats()
		t.Logf("loss %v: %.1f MB/s, %d of %d retransmitted", c.loss, float64(got[0])/1e6, s.Retransmissions, s.Sent)
		if got[0] < c.least && !raceEnabled {
			t.Errorf("loss %v: %d bytes a second", c.loss, got[0])
		}
	}
}

// TestDeterministic runs an exchange twice: every datagram is the same.
func TestDeterministic(t *testing.T) {
	run := func() uint64 {
		w := newWorld(t)
		x := newExchange(w, 9, 4, 3, am2.Defaults())
		h := fnv.New64a()
		inner := lossy(x.r, 0.1, 0.1, 0.3)
		w.fate = func(from, to *node, d []byte) []time.Duration {
			h.Write(d)
			return inner(from, to, d)
		}
		x.post(100, 10_000, 30_000)
		x.finish(limit)
		return h.Sum64()
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ: %x, %x", a, b)
	}
}
