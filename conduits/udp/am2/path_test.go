package am2_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// route is a path in either direction: a line with a rate and a queue, which all senders of a
// direction share, a delay, random loss and reordering.
type route struct {
	rate          float64       // bytes a second
	rtt           time.Duration // without any waiting
	queue         int           // bytes that may wait
	loss, reorder float64
	hold          time.Duration // of what is reordered, at most
	random        *rand.Rand
	busy          map[bool]time.Duration // until when, by direction
	drops         int
	cut           func(now time.Duration) bool // nothing gets through
}

// newRoute returns a path whose queue has the bandwidth-delay product.
func newRoute(rate float64, rtt time.Duration) *route {
	return &route{
		rate: rate, rtt: rtt, queue: max(int(rate*rtt.Seconds()), 20*1472), hold: time.Millisecond,
		random: rand.New(rand.NewPCG(1, 2)), busy: make(map[bool]time.Duration),
	}
}

// fate has the first half of the nodes send to the others over the line of one direction.
func (r *route) fate(w *world) func(from, to *node, d []byte) []time.Duration {
	return func(from, _ *node, d []byte) []time.Duration {
		forth := from.number() < len(w.nodes)/2
		start := max(w.now, r.busy[forth])
		if float64(start-w.now)*r.rate/1e9 > float64(r.queue) {
			r.drops++
			return nil
		}
		r.busy[forth] = start + time.Duration(float64(len(d)+28)*1e9/r.rate)
		if r.random.Float64() < r.loss || r.cut != nil && r.cut(w.now) {
			return nil
		}
		delay := r.busy[forth] - w.now + r.rtt/2
		if r.random.Float64() < r.reorder {
			delay += time.Duration(r.random.Int64N(int64(r.hold)))
		}
		return []time.Duration{delay}
	}
}

// number returns which node of the world it is.
func (n *node) number() int { return int(n.addr.Addr().As4()[3]) }

// transfer streams over the route between so many pairs for a time, and returns the bytes that
// arrived at each receiver in the time after the first settle.
func (r *route) transfer(t testing.TB, flows int, settle, d time.Duration) (got []int, w *world) {
	w = newWorld(t)
	w.fate = r.fate(w)
	for range 2 * flows {
		w.add(am2.Defaults())
	}
	src := make([]byte, 1<<20)
	got = make([]int, flows)
	for i := range flows {
		x, y := w.nodes[i], w.nodes[flows+i]
		ex := x.endpoint(0, 1, &handler{})
		y.endpoint(0, 1, &handler{segment: src, arrived: func(m *am2.Message) bool {
			if w.now >= settle {
				got[i] += m.Len
			}
			return false
		}})
		if err := ex.Map(0, y.name(0), jobTag); err != nil {
			t.Fatal(err)
		}
		ahead := max(64<<10, 8*int(r.rate*r.rtt.Seconds())) // bytes that are posted
		x.step = func() {
			for x.b.Unacknowledged() < ahead/1400 {
				op := am2.Op{Kind: am2.Long, Len: 64 << 10, Src: src[:64<<10]}
				if ex.Reserve(&op) != am2.Reserved {
					break
				}
				ex.Commit(&op)
			}
		}
	}
	w.until(settle+d+time.Second, func() bool {
		if dbg != nil {
			dbg(w)
		}
		return w.now >= settle+d
	})
	return got, w
}

var dbg func(*world)

// TestPaths streams over paths with delay, loss and reordering: most of what the loss leaves of the
// rate is used.
func TestPaths(t *testing.T) {
	for _, c := range []struct {
		rtt           time.Duration
		rate          float64
		loss, reorder float64
		part          float64
	}{
		{24 * time.Millisecond, 10e6, 0, 0, 0.8},
		{50 * time.Millisecond, 10e6, 0, 0, 0.8},
		{130 * time.Millisecond, 10e6, 0, 0, 0.8},
		{300 * time.Millisecond, 10e6, 0, 0, 0.8},
		{5 * time.Millisecond, 10e6, 0, 0.01, 0.8},
		{5 * time.Millisecond, 10e6, 0, 0.05, 0.8},
		{1 * time.Millisecond, 10e6, 0.01, 0.05, 0.8},
		{50 * time.Millisecond, 10e6, 0.01, 0, 0.8},
		{50 * time.Millisecond, 10e6, 0.1, 0.05, 0.7},
		{300 * time.Millisecond, 100e6, 0.01, 0, 0.8},
	} {
		t.Run(fmt.Sprintf("%v/%v/%v/%v", c.rtt, c.rate, c.loss, c.reorder), func(t *testing.T) {
			r := newRoute(c.rate, c.rtt)
			r.loss, r.reorder = c.loss, c.reorder
			settle, d := 12*c.rtt, 8*c.rtt
			if raceEnabled {
				settle, d = 2*c.rtt, c.rtt
			}
			got, w := r.transfer(t, 1, settle, d)
			used := float64(got[0]) / (c.rate * d.Seconds() * (1 - c.loss))
			s := w.nodes[0].b.Stats()
			t.Logf("%.2f of the rate, %d dropped, %d of %d sent again, %d acknowledgements", used, r.drops, s.Retransmissions, s.Sent, w.nodes[1].b.Stats().Acks)
			if used < c.part && !raceEnabled {
				t.Errorf("%.2f of the rate was used, want %.2f", used, c.part)
			}
		})
	}
}
