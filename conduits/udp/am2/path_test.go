package am2_test

import (
	"fmt"
	"math"
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
	every         time.Duration                // how often drivers look, if not at once
	prompt        bool                         // those of receivers look at once
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
	for i := range 2 * flows {
		if n := w.add(am2.Defaults()); i < flows || !r.prompt {
			n.every = r.every
		}
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
	w.until(settle+d+time.Second, func() bool { return w.now >= settle+d })
	return got, w
}

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
		{time.Millisecond, 10e6, 0.01, 0.05, 0.75},
		{50 * time.Millisecond, 10e6, 0.01, 0, 0.8},
		{50 * time.Millisecond, 10e6, 0.1, 0.05, 0.7},
		{100 * time.Millisecond, 100e6, 0.01, 0, 0.8},
	} {
		t.Run(fmt.Sprintf("%v/%v/%v/%v", c.rtt, c.rate, c.loss, c.reorder), func(t *testing.T) {
			r := newRoute(c.rate, c.rtt)
			r.loss, r.reorder = c.loss, c.reorder
			r.fill(t, c.part)
		})
	}
}

// TestGrid streams over the paths of aqimpair paths --full that are chosen.
func TestGrid(t *testing.T) {
	chosen := chosen(t)
	i := 0
	for _, rate := range []float64{10e6, 100e6} {
		for _, rtt := range []time.Duration{1, 10, 50, 130, 300} {
			for _, loss := range []float64{0, 0.001, 0.01, 0.1} {
				for _, reorder := range []float64{0, 0.01, 0.05} {
					if i++; !chosen(i) {
						continue
					}
					r := newRoute(rate, rtt*time.Millisecond)
					r.loss, r.reorder = loss, reorder
					t.Run(fmt.Sprintf("%v/%v/%v/%v", r.rtt, rate, loss, reorder), func(t *testing.T) { r.fill(t, 0.75) })
				}
			}
		}
	}
}

// fill streams over the route and wants a part of what the loss leaves of the rate to be used.
func (r *route) fill(t *testing.T, part float64) {
	settle, d := max(20*r.rtt, 100*time.Millisecond), max(8*r.rtt, 400*time.Millisecond)
	if raceEnabled {
		settle, d = 2*r.rtt, r.rtt
	}
	got, w := r.transfer(t, 1, settle, d)
	used := float64(got[0]) / (r.rate * d.Seconds() * (1 - r.loss))
	s := w.nodes[0].b.Stats()
	t.Logf("%.2f of the rate, %d dropped, %d of %d sent again, %d acknowledgements", used, r.drops, s.Retransmissions, s.Sent, w.nodes[1].b.Stats().Acks)
	if used < part && !raceEnabled {
		t.Errorf("%.2f of the rate was used, want %.2f", used, part)
	}
}

// TestLateDriver streams while drivers look every few milliseconds only, as on hosts with too few CPUs: they
// catch up with what waited for its time, as far as the queue takes what they then send at once.
func TestLateDriver(t *testing.T) {
	for _, c := range []struct {
		rate       float64
		rtt, every time.Duration
		receiver   bool // is as late
		part       float64
	}{
		{10e6, 100 * time.Millisecond, 2 * time.Millisecond, true, 0.8},
		{10e6, 100 * time.Millisecond, 5 * time.Millisecond, true, 0.8},
		{10e6, 3 * time.Millisecond, 3 * time.Millisecond, false, 0.8},
		{10e6, 3 * time.Millisecond, 3 * time.Millisecond, true, 0.8},
		{100e6, 3 * time.Millisecond, 2 * time.Millisecond, true, 0.65},
		{100e6, 10 * time.Millisecond, 8 * time.Millisecond, false, 0.8},
		{100e6, 10 * time.Millisecond, 8 * time.Millisecond, true, 0.8},
		{100e6, time.Millisecond, 2 * time.Millisecond, false, 0.4}, // half, for that is what the queue takes
		{100e6, time.Millisecond, 2 * time.Millisecond, true, 0.4},
	} {
		r := newRoute(c.rate, c.rtt)
		r.every, r.prompt = c.every, !c.receiver
		settle, d := max(30*c.rtt, 300*time.Millisecond), max(20*c.rtt, 300*time.Millisecond)
		got, _ := r.transfer(t, 1, settle, d)
		used := float64(got[0]) / (r.rate * d.Seconds())
		t.Logf("%+v: %.2f of the rate", c, used)
		if used < c.part {
			t.Errorf("%v and %v bytes/s; drivers look every %v, the receiver's too: %v: %.2f of the rate was used, want %v", c.rtt, c.rate, c.every, c.receiver, used, c.part)
		}
	}
}

// TestSeldomAcks streams without losses: on a long path one acknowledgement tells of several packets, on a short
// one of two.
func TestSeldomAcks(t *testing.T) {
	for _, c := range []struct {
		rtt   time.Duration
		every float64 // packets an acknowledgement
	}{
		{100 * time.Microsecond, 2},
		{10 * time.Millisecond, 8},
	} {
		r := newRoute(100e6, c.rtt)
		r.queue = 64 << 20
		_, w := r.transfer(t, 1, 0, 200*time.Millisecond)
		sent, acks := w.nodes[0].b.Stats().Sent, w.nodes[1].b.Stats().Acks
		if every := float64(sent) / float64(acks); every < 0.8*c.every || every > 1.2*c.every {
			t.Errorf("round trip %v: an acknowledgement for %.1f packets, want %v", c.rtt, every, c.every)
		}
	}
}

// TestEndAcknowledged sends single messages of a few packets over a long path: their ends are acknowledged at once.
func TestEndAcknowledged(t *testing.T) {
	const delay = 10 * time.Millisecond
	cfg := am2.Defaults()
	p := newPair(t, cfg)
	p.w.fate = func(_, _ *node, _ []byte) []time.Duration { return []time.Duration{delay} }
	p.exchange(1, 4000)
	for range 5 {
		begin := p.w.now
		p.exchange(1, 4000)
		if d := p.w.now - begin; d > 2*delay+cfg.AckDelay/2 {
			t.Errorf("4000 bytes are acknowledged after %v; the round trip is %v", d, 2*delay)
		}
	}
}

// TestShares has two streams share a path: neither has more than twice of what the other has.
func TestShares(t *testing.T) {
	if raceEnabled {
		t.Skip("the same is deterministic without the race detector, which takes a minute over it")
	}
	r := newRoute(10e6, 20*time.Millisecond)
	got, _ := r.transfer(t, 2, 2*time.Second, 4*time.Second)
	t.Logf("%d and %d bytes", got[0], got[1])
	if max(got[0], got[1]) > 2*min(got[0], got[1]) {
		t.Errorf("%d and %d bytes in the same time", got[0], got[1])
	}
	if got[0]+got[1] < 4*10e6*8/10 {
		t.Errorf("%d bytes of %d", got[0]+got[1], 4*10_000_000)
	}
}

// exchange sends Mediums and waits until all have been handled.
func (p *pair) exchange(n, size int) {
	for range n {
		if !p.post(letter{id: uint32(len(p.letters)), kind: am2.Medium, nargs: 1, size: size}) {
			p.w.t.Fatal("no room")
		}
	}
	p.w.until(10*time.Second, func() bool { return len(p.arrived) == len(p.letters) && p.w.quiet() })
}

// TestLittle has little to send first, some of it after an hour, and then much: that it was little, and
// slow, says nothing of the path.
func TestLittle(t *testing.T) {
	for _, quiet := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprint(quiet), func(t *testing.T) {
			const delay = 10 * time.Millisecond
			cfg := am2.Defaults()
			cfg.Pack = am2.MinDatagram
			p := newPair(t, cfg)
			p.w.mtu = cfg.Datagram
			p.w.fate = func(_, _ *node, _ []byte) []time.Duration { return []time.Duration{delay} }
			p.exchange(1, 300)
			p.w.now += quiet
			p.exchange(15, 300) // more than go before there is a path
			begin := p.w.now
			p.exchange(3, 40_000)
			if d := p.w.now - begin; d > 4*delay {
				t.Errorf("120 KB take %v", d)
			}
		})
	}
}

// TestLimited sends a little at a time for many round trips, and then much: the path is not taken for full because
// no more was sent.
func TestLimited(t *testing.T) {
	r := newRoute(100e6, 20*time.Millisecond)
	p := newPair(t, am2.Defaults())
	p.w.fate = r.fate(p.w)
	for range 20 {
		p.exchange(15, 1300)
	}
	begin := p.w.now
	for range 10 {
		p.exchange(12, 60_000)
	}
	if d := p.w.now - begin; d > 22*r.rtt {
		t.Errorf("ten times 720 KB take %v", d)
	}
}

// TestNoHaste exchanges single requests and replies over long round trips: when one is known,
// nothing is sent twice.
func TestNoHaste(t *testing.T) {
	for _, rtt := range []time.Duration{24, 50, 130, 300} {
		rtt *= time.Millisecond
		r := newRoute(10e6, rtt)
		p := newPair(t, am2.Defaults())
		p.w.fate = r.fate(p.w)
		for i := range uint32(20) {
			if !p.post(letter{id: i + 1, kind: am2.Medium, nargs: 1, size: 3000}) {
				t.Fatal("no room")
			}
			p.w.until(10*rtt, func() bool { return len(p.arrived) == int(i)+1 && p.w.quiet() })
			if i == 0 {
				continue
			}
			if s := p.x.b.Stats(); s.Retransmissions > 3 { // of the first, whose round trip nobody knew
				t.Fatalf("round trip %v: %d datagrams sent again after %d messages", rtt, s.Retransmissions, i+1)
			}
		}
	}
}

// TestOvertaken streams over a path that does nothing but reorder: next to nothing is sent twice.
func TestOvertaken(t *testing.T) {
	for _, reorder := range []float64{0.01, 0.05} {
		r := newRoute(10e6, 5*time.Millisecond)
		r.reorder, r.queue = reorder, 1<<30
		_, w := r.transfer(t, 1, 0, 500*time.Millisecond)
		if s := w.nodes[0].b.Stats(); s.Sent < 3000 || s.Retransmissions > s.Sent/500 {
			t.Errorf("reordering of %v: %d of %d datagrams sent again", reorder, s.Retransmissions, s.Sent)
		}
	}
}

// TestNoHole streams over paths that lose much: an outage of 2 s, bursts of ten losses, half of
// all. Send is not told of a hole for what is long, and the stream goes on.
func TestNoHole(t *testing.T) {
	const suspicious = 6
	for _, c := range []struct {
		name  string
		least int // bytes in the 2 s after
		route func(r *route)
	}{
		{"outage", 12e6, func(r *route) {
			r.cut = func(now time.Duration) bool { return now > time.Second && now < 3*time.Second }
		}},
		{"bursts", 8e6, func(r *route) {
			burst := 0
			r.cut = func(time.Duration) bool {
				if burst == 0 && r.random.IntN(200) == 0 {
					burst = 10
				}
				burst = max(burst-1, 0)
				return burst > 0
			}
		}},
		{"half", 60_000, func(r *route) { r.loss = 0.5 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoute(10e6, 10*time.Millisecond)
			c.route(r)
			got, w := r.transfer(t, 1, 3*time.Second, 2*time.Second)
			t.Logf("%d bytes; told of %d transmissions in vain", got[0], w.times)
			if w.times >= suspicious {
				t.Errorf("told of %d transmissions in vain", w.times)
			}
			if got[0] < c.least {
				t.Errorf("%d bytes in 2 s, want %d", got[0], c.least)
			}
		})
	}
}

// TestOutage sends one long payload while nothing gets through for 2 s: that says nothing of its
// length.
func TestOutage(t *testing.T) {
	const suspicious = 6
	r := newRoute(10e6, 10*time.Millisecond)
	p := newPair(t, am2.Defaults())
	p.w.fate = r.fate(p.w)
	p.post(letter{id: 1, nargs: 1})
	p.w.until(time.Second, func() bool { return len(p.arrived) == 1 && p.w.quiet() })
	end := p.w.now + 2*time.Second
	r.cut = func(now time.Duration) bool { return now < end }
	p.post(letter{id: 2, kind: am2.Medium, nargs: 1, size: 1300})
	p.w.until(5*time.Second, func() bool { return len(p.arrived) == 2 && p.w.quiet() })
	if p.w.times >= suspicious {
		t.Errorf("told of %d transmissions in vain", p.w.times)
	}
}

// TestHistory has a path carry 1 MB after whatever: idle hours, short messages, outages, losses, changes of
// the round trip, a receiver that does not poll. It takes no more than some round trips longer than
// the rate needs.
func TestHistory(t *testing.T) {
	seeds := []uint64{12, 84, 98, 143, 169, 191, 208, 330, 433} // histories that once made a path slow
	for i := range uint64(30) {
		seeds = append(seeds, 1000+i)
	}
	if raceEnabled {
		seeds = seeds[:4]
	}
	for _, seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 1))
		trip := func() time.Duration { return time.Duration(100_000 * math.Exp(7*random.Float64())) }
		r := newRoute(10e6, trip())
		w := newWorld(t)
		w.fate = r.fate(w)
		x, y := w.add(am2.Defaults()), w.add(am2.Defaults())
		src := make([]byte, 1<<20)
		got, want, left := 0, 0, 0
		ex := x.endpoint(0, 1, &handler{})
		y.endpoint(0, 1, &handler{segment: src, arrived: func(m *am2.Message) bool { got += m.Len; return false }})
		if err := ex.Map(0, y.name(0), jobTag); err != nil {
			t.Fatal(err)
		}
		most := 64 << 10
		x.step = func() {
			for left > 0 {
				n := min(left, most)
				op := am2.Op{Kind: am2.Long, Len: n, Src: src[:n]}
				if ex.Reserve(&op) != am2.Reserved {
					break
				}
				ex.Commit(&op)
				left -= n
			}
		}
		history := ""
		carry := func(what string, n int, d time.Duration) {
			history += what + " "
			left, want = left+n, want+n
			if d == 0 {
				w.until(time.Minute, func() bool { return got == want && w.quiet() })
				return
			}
			end := w.now + d
			w.until(d+time.Hour, func() bool { return w.now >= end })
		}
		rest := func(d time.Duration) {
			w.until(time.Minute, func() bool { return w.flying == 0 })
			w.now += d
		}
		for range 1 + random.IntN(8) {
			switch random.IntN(7) {
			case 0:
				carry("idle", 1, 0)
				rest(time.Duration(random.Int64N(int64(time.Hour))))
			case 1:
				most = 1 + random.IntN(500)
				carry("short", most*random.IntN(200), 0)
			case 2:
				carry("long", random.IntN(3<<20), 0)
			case 3:
				y.asleep = true
				carry("busy", random.IntN(3<<20), time.Duration(random.Int64N(2e9)))
				y.asleep = false
				carry("", 0, 0)
			case 4:
				end := w.now + time.Duration(random.Int64N(3e9))
				r.cut = func(now time.Duration) bool { return now < end }
				carry("outage", random.IntN(3<<20), 0)
			case 5:
				r.rtt = trip()
				rest(11 * time.Second) // for less long the old one is believed
				carry("trip", random.IntN(1<<20), 0)
			case 6:
				r.loss = random.Float64() / 3
				carry("loss", random.IntN(1<<19), 0)
				r.loss = 0
			}
			most = 64 << 10
		}
		begin := w.now
		carry("1MB", 1<<20, 0)
		if d, most := w.now-begin, 150*time.Millisecond+8*r.rtt; d > most {
			t.Errorf("history %d (%s): %v, want at most %v, with a round trip of %v", seed, history, d, most, r.rtt)
		}
	}
}
