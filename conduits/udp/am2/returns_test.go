package am2_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// back is a message that came back.
type back struct {
	id     uint32
	reason am2.Reason
}

// pair is two nodes with an endpoint each, of which the first sends.
type pair struct {
	w        *world
	x, y     *node
	ex, ey   *am2.Endpoint
	hx, hy   handler
	arrived  []uint32
	returned []back
	lost     []am2.Reason
	letters  map[uint32]letter
}

func newPair(t *testing.T, cfg am2.Config) *pair {
	p := &pair{w: newWorld(t), letters: make(map[uint32]letter)}
	p.x, p.y = p.w.add(cfg), p.w.add(cfg)
	p.hy.segment = make([]byte, segment)
	p.ex, p.ey = p.x.endpoint(0, 1, &p.hx), p.y.endpoint(0, 1, &p.hy)
	if err := p.ex.Map(0, p.y.name(0), jobTag); err != nil {
		t.Fatal(err)
	}
	p.hy.arrived = func(m *am2.Message) bool {
		p.arrived = append(p.arrived, m.Header)
		if err := p.letters[m.Header].check(m); err != nil {
			t.Fatal(err)
		}
		return false
	}
	p.hx.returned = func(m *am2.Message, r am2.Reason) {
		p.returned = append(p.returned, back{m.Header, r})
		if err := p.letters[m.Header].check(m); err != nil {
			t.Fatalf("returned: %v", err)
		}
		if m.Index != 0 || m.Remote() != p.y.name(0) || m.Reply {
			t.Fatalf("returned as of %d, %v", m.Index, m.Remote())
		}
	}
	p.hx.lost = func(_ *am2.Message, r am2.Reason) { p.lost = append(p.lost, r) }
	return p
}

// post sends a letter, if there is room.
func (p *pair) post(l letter) bool {
	p.w.t.Helper()
	op := l.op(0)
	switch r := p.ex.Reserve(&op); r {
	case am2.Reserved:
	case am2.NoRoom:
		return false
	default:
		p.w.t.Fatalf("Reserve: %v", r)
	}
	p.letters[l.id] = l
	l.fill(&op)
	p.ex.Commit(&op)
	return true
}

// kinds of letters: one of a packet, one of several.
func letters() []letter {
	return []letter{
		{id: 1, nargs: 3},
		{id: 2, kind: am2.Medium, nargs: 2, size: 100},
		{id: 3, kind: am2.Long, nargs: 16, size: 9000, off: 64},
		{id: 4, kind: am2.Medium, nargs: 1, size: 20_000},
		{id: 5, nargs: 1},
	}
}

func TestReturned(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason am2.Reason
		make   func(p *pair)
		within time.Duration
	}{
		{"tag", am2.TagMismatch, func(p *pair) { p.ey.SetTag(77) }, 10 * time.Millisecond},
		{"receiver never matches", am2.TagMismatch, func(p *pair) { p.ey.SetTag(am2.NeverMatch) }, 10 * time.Millisecond},
		{"closed", am2.NoEndpoint, func(p *pair) { p.ey.Close() }, 10 * time.Millisecond},
		{"dead", am2.Unreachable, func(p *pair) { p.y.deaf = true }, 11 * time.Second},
		{"refused", am2.Refused, func(p *pair) {
			p.y.deaf = true
			p.x.step = func() {
				if p.w.sent > 0 {
					p.x.b.Refused(p.w.now, p.y.addr)
				}
			}
		}, 100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, am2.Defaults())
			c.make(p)
			for _, l := range letters() {
				if !p.post(l) {
					t.Fatal("no room")
				}
			}
			p.w.until(c.within, func() bool { return len(p.returned) == 5 && p.w.quiet() })
			seen := map[uint32]bool{}
			for _, b := range p.returned {
				if b.reason != c.reason || seen[b.id] {
					t.Errorf("returned: %v", p.returned)
				}
				seen[b.id] = true
			}
			if len(p.arrived) > 0 {
				t.Errorf("delivered: %v", p.arrived)
			}
			gone := c.reason == am2.Unreachable || c.reason == am2.Refused
			if gone != (len(p.lost) == 1) {
				t.Errorf("lost: %v", p.lost)
			}
			if err := am2.Leaks(p.x.b); err != nil {
				t.Error(err)
			}
			// Later messages are not harmed.
			p.x.step = func() {}
			p.y.deaf = false
			if c.reason == am2.NoEndpoint {
				return
			}
			p.ey.SetTag(am2.Wildcard)
			if !p.post(letter{id: 9, kind: am2.Medium, nargs: 1, size: 5000}) {
				t.Fatal("no credit after all has come back")
			}
			p.w.until(2*time.Second, func() bool { return len(p.arrived) == 1 && p.w.quiet() })
		})
	}
}

// TestUnreachableTime checks that the verdict falls after Config.Unreachable, and not while
// the peer lives though its program computes.
func TestUnreachableTime(t *testing.T) {
	p := newPair(t, am2.Defaults())
	p.y.deaf = true
	p.post(letter{id: 1, nargs: 1})
	p.w.until(20*time.Second, func() bool { return len(p.returned) == 1 })
	if d := p.w.now; d < 10*time.Second || d > 10*time.Second+300*time.Millisecond {
		t.Errorf("unreachable after %v", d)
	}
	p = newPair(t, am2.Defaults())
	p.y.asleep = true
	sent := 0
	p.x.step = func() {
		for p.post(letter{id: uint32(sent + 1), kind: am2.Medium, nargs: 1, size: 1000}) {
			sent++
		}
	}
	p.w.until(10*time.Minute, func() bool { return p.w.now > 5*time.Minute })
	if len(p.returned)+len(p.lost) > 0 || sent == 0 {
		t.Fatalf("a busy peer: %d sent, %d returned, lost %v", sent, len(p.returned), p.lost)
	}
	p.x.step = func() {}
	p.y.asleep = false
	p.w.until(5*time.Second, func() bool { return len(p.arrived) == sent && p.w.quiet() })
}

// TestRetries checks the other limit.
func TestRetries(t *testing.T) {
	cfg := am2.Defaults()
	cfg.Retries = 3
	p := newPair(t, cfg)
	p.y.deaf = true
	p.post(letter{id: 1, nargs: 1})
	p.w.until(2*time.Second, func() bool { return len(p.returned) == 1 })
	if p.w.sent != 4 || p.returned[0].reason != am2.Unreachable {
		t.Errorf("%v after %d transmissions", p.returned, p.w.sent)
	}
}

// TestLostAfterTaken is about requests that the peer took before it died.
func TestLostAfterTaken(t *testing.T) {
	p := newPair(t, am2.Defaults())
	p.y.asleep = true
	p.post(letter{id: 1, nargs: 1})
	p.w.until(time.Second, p.taken)
	p.y.deaf = true
	p.w.until(20*time.Second, func() bool { return len(p.lost) == 1 })
	if len(p.returned) > 0 || p.lost[0] != am2.Unreachable {
		t.Errorf("returned %v, lost %v", p.returned, p.lost)
	}
}

func (p *pair) taken() bool { return p.x.b.Unacknowledged() == 0 }

// TestTagChanges changes the tag again and again under loss and reordering: every message is
// either delivered or returned, and none both.
func TestTagChanges(t *testing.T) {
	for seed := range uint64(*seeds) {
		p := newPair(t, am2.Defaults())
		r := rand.New(rand.NewPCG(seed, 3))
		p.w.fate = lossy(r, 0.2, 0.2, 0.5)
		sent, off := 0, 0
		p.x.step = func() {
			for range r.IntN(4) {
				if sent < 150 {
					l := randomLetter(r, uint32(sent+1), 9000, 9000)
					l.off = off
					off += l.size
					if !p.post(l) {
						break
					}
					sent++
				}
			}
			if sent < 150 {
				p.x.wake(p.w.now + 50*time.Microsecond)
			}
		}
		p.y.step = func() { p.ey.SetTag([]am2.Tag{jobTag, 77}[r.IntN(2)]) }
		done := func() bool { return sent == 150 && len(p.arrived)+len(p.returned) >= sent && p.w.quiet() }
		p.w.until(time.Minute, done)
		count := map[uint32]int{}
		for _, id := range p.arrived {
			count[id]++
		}
		for _, b := range p.returned {
			count[b.id]++
		}
		for id := range uint32(sent) {
			if count[id+1] != 1 {
				t.Errorf("seed %d: message %d was delivered or returned %d times", seed, id+1, count[id+1])
			}
		}
		if len(p.arrived) == 0 || len(p.returned) == 0 {
			t.Errorf("seed %d: %d delivered, %d returned: the test tests nothing", seed, len(p.arrived), len(p.returned))
		}
		for _, n := range p.w.nodes {
			if err := am2.Leaks(n.b); err != nil && n == p.x {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
}

// TestTags goes through what matches what.
func TestTags(t *testing.T) {
	const a, b am2.Tag = 1, 2
	for _, c := range []struct {
		own, sent am2.Tag
		ok        bool
	}{
		{a, a, true}, {a, b, false}, {am2.Wildcard, a, true}, {a, am2.Wildcard, false}, {am2.Wildcard, am2.Wildcard, true},
		{am2.NeverMatch, a, false}, {a, am2.NeverMatch, false}, {am2.NeverMatch, am2.NeverMatch, false},
		{am2.Wildcard, am2.NeverMatch, false}, {am2.NeverMatch, am2.Wildcard, false},
	} {
		p := newPair(t, am2.Defaults())
		p.ey.SetTag(c.own)
		if err := p.ex.Map(0, p.y.name(0), c.sent); err != nil {
			t.Fatal(err)
		}
		p.post(letter{id: 1, nargs: 1})
		p.w.until(time.Second, func() bool { return len(p.arrived)+len(p.returned) == 1 && p.w.quiet() })
		if (len(p.arrived) == 1) != c.ok {
			t.Errorf("endpoint with tag %x, message with tag %x: delivered %v", c.own, c.sent, len(p.arrived) == 1)
		}
	}
}

// TestTable maps, replaces and removes entries.
func TestTable(t *testing.T) {
	p := newPair(t, am2.Defaults())
	op := am2.Op{Index: 5}
	if r := p.ex.Reserve(&op); r != am2.Unmapped {
		t.Errorf("Reserve beyond the table: %v", r)
	}
	if err := p.ex.Map(7, p.y.name(0), jobTag); err != nil {
		t.Fatal(err)
	}
	if r := p.ex.Reserve(&op); r != am2.Unmapped {
		t.Errorf("Reserve of a hole: %v", r)
	}
	if name, tag, ok := p.ex.Lookup(7); name != p.y.name(0) || tag != jobTag || !ok {
		t.Errorf("Lookup: %v %v %v", name, tag, ok)
	}
	p.ex.Unmap(7)
	op.Index = 7
	if r := p.ex.Reserve(&op); r != am2.Unmapped {
		t.Errorf("Reserve of what was removed: %v", r)
	}
	if err := p.ex.Map(1<<24, p.y.name(0), jobTag); err == nil {
		t.Error("Map took an index beyond all tables")
	}
	if err := p.ex.Map(1, am2.Name{}, jobTag); err == nil {
		t.Error("Map took a name without an address")
	}
	if _, err := p.x.b.NewEndpoint(0, 2, jobTag, 1, &p.hx); err == nil {
		t.Error("two endpoints with one number")
	}
	for _, long := range []am2.Op{{Kind: am2.Medium, Len: 64<<10 + 1}, {Kind: am2.Long, Len: 4<<20 + 1}, {Len: 1}} {
		if r := p.ex.Reserve(&long); r != am2.TooLong {
			t.Errorf("Reserve of %d bytes: %v", long.Len, r)
		}
	}
}

// TestOutside is about a Long that the receiver has no place for: nothing is written, and the
// handler above is told.
func TestOutside(t *testing.T) {
	for _, size := range []int{100, 50_000} {
		p := newPair(t, am2.Defaults())
		told := 0
		p.hy.arrived = func(m *am2.Message) bool {
			if m.Data != nil || m.Len != size {
				t.Errorf("%d bytes with data of %d", m.Len, len(m.Data))
			}
			told++
			return false
		}
		p.post(letter{id: 1, kind: am2.Long, size: size, off: segment - size + 1})
		p.w.until(time.Second, func() bool { return told == 1 && p.w.quiet() })
		for i, v := range p.hy.segment {
			if v != 0 {
				t.Fatalf("byte %d of the segment was written", i)
			}
		}
	}
}

// TestStopped has a process be stopped for longer than an unreachable peer is given, after it
// has sent something. The answer has come meanwhile, and it takes it into account.
func TestStopped(t *testing.T) {
	cfg := am2.Defaults()
	p := newPair(t, cfg)
	var answers [][]byte
	p.w.fate = func(_, to *node, d []byte) []time.Duration {
		if to == p.x {
			answers = append(answers, d)
			return nil
		}
		return []time.Duration{propagation}
	}
	for range 2 {
		p.post(letter{id: uint32(len(answers)), nargs: 1})
		for e := p.w.pop(); ; e = p.w.pop() {
			if p.w.now = e.at; e.data != nil {
				p.y.receive(e.from, e.data)
			}
			if p.y.run(); len(answers) > 0 {
				break
			}
		}
		p.w.now += 2 * cfg.Unreachable
		p.x.b.Service(p.w.now)
		for _, d := range answers {
			p.x.receive(p.y, d)
		}
		for p.x.b.Deliver(p.w.now, 10) > 0 {
		}
		if len(p.lost) > 0 || len(p.returned) > 0 || p.x.b.Unacknowledged() > 0 {
			t.Fatalf("lost %v, returned %v, %d packets not acknowledged", p.lost, p.returned, p.x.b.Unacknowledged())
		}
		p.w.queue, answers = vtime.Queue[event]{}, nil
	}
}

// badPath has the network lose a part of all datagrams, and deliver the others after delay, and then has
// x send one message after the other until a time. It returns how long it took until all had arrived, or
// what was given up.
func badPath(t *testing.T, seed uint64, loss float64, delay func(now time.Duration) time.Duration, until time.Duration) (took time.Duration, gaveUp string) {
	p := newPair(t, am2.Defaults())
	fate := lossy(rand.New(rand.NewPCG(seed, 1)), loss, 0, 0)
	p.w.fate = func(from, to *node, d []byte) []time.Duration {
		if fate(from, to, d) == nil {
			return nil
		}
		return []time.Duration{delay(p.w.now)}
	}
	id := uint32(0)
	p.x.step = func() {
		if p.taken() && p.w.now < until {
			id++
			p.post(letter{id: id, nargs: 1})
		}
	}
	p.x.step()
	p.w.until(time.Hour, func() bool {
		return len(p.returned)+len(p.lost) > 0 || p.w.now > until && len(p.arrived) == int(id) && p.taken()
	})
	if len(p.returned)+len(p.lost) > 0 {
		gaveUp = fmt.Sprintf("returned %v, lost %v", p.returned, p.lost)
	}
	return p.w.now, gaveUp
}

// TestStandstill has the network stand still for seconds and then deliver everything late. The late answers
// say that a round trip takes seconds; what is lost afterwards is sent again soon nevertheless, and the peer is
// not given up.
func TestStandstill(t *testing.T) {
	const begin, end = 10 * time.Millisecond, 4 * time.Second
	for seed := range uint64(50) {
		took, gaveUp := badPath(t, seed, 0.2, func(now time.Duration) time.Duration {
			if now > begin && now < end {
				return end - now
			}
			return propagation
		}, end+20*time.Millisecond)
		if gaveUp != "" || took > 3*end {
			t.Errorf("seed %d: %v: %s", seed, took, gaveUp)
		}
	}
}

// TestFewTries is about a path so long that there is no time for many tries until Config.Unreachable has
// passed: there are many all the same.
func TestFewTries(t *testing.T) {
	for seed := range uint64(20) {
		_, gaveUp := badPath(t, seed, 0.25, func(time.Duration) time.Duration { return 900 * time.Millisecond }, 5*time.Minute)
		if gaveUp != "" {
			t.Errorf("seed %d: %s", seed, gaveUp)
		}
	}
}
