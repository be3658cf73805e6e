package am2_test

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// TestCrossfire has everybody flood everybody with requests that are replied to, with room
// for next to nothing and programs that seldom deliver: replies get out all the same.
func TestCrossfire(t *testing.T) {
	cfg := am2.Defaults()
	cfg.Receive, cfg.Packets, cfg.Replies, cfg.Stages = 4, 4, 2, 1
	w := newWorld(t)
	x := newExchange(w, 5, 6, 1, cfg)
	w.fate = lossy(x.r, 0.05, 0.05, 0.1)
	for _, n := range w.nodes {
		n.budget = 1
	}
	for _, from := range x.ends {
		for range 100 {
			ml := x.letter(from, x.ends[x.r.IntN(len(x.ends))], 4000, 4000)
			ml.reply = x.letter(ml.to, from, 4000, 4000)
			from.todo = append(from.todo, ml)
		}
	}
	x.finish(limit)
}

// TestBackground has programs that compute now and then: the background service keeps what
// arrives meanwhile.
func TestBackground(t *testing.T) {
	w := newWorld(t)
	x := newExchange(w, 6, 3, 2, am2.Defaults())
	r := rand.New(rand.NewPCG(6, 6))
	w.fate = func(_, to *node, _ []byte) []time.Duration {
		if r.IntN(20) == 0 {
			if to.asleep = !to.asleep; !to.asleep {
				to.wake(w.now)
			}
		}
		return []time.Duration{propagation}
	}
	x.post(200, 20_000, 50_000)
	w.until(limit, func() bool {
		for _, n := range w.nodes {
			if w.queue.Len() < 3 && n.asleep {
				n.asleep = false
				n.wake(w.now)
			}
		}
		return x.done()
	})
}

// TestReentrant calls everything but Deliver while a message is being delivered, as other
// goroutines may, with blocks that are used again at once.
func TestReentrant(t *testing.T) {
	p := newPair(t, am2.Defaults())
	check := p.hy.arrived
	var late []*am2.Block
	p.hy.arrived = func(m *am2.Message) bool {
		for range 20 { // pins so many blocks that small packets are copied
			late = append(late, p.y.b.Block())
		}
		p.y.b.Service(p.w.now)
		for _, k := range late {
			clear(k.Bytes())
			k.Release()
		}
		late = late[:0]
		k := p.y.b.Block()
		clear(k.Bytes())
		p.y.b.Receive(p.w.now, p.x.addr, k, k.Bytes()[:100])
		k.Release()
		return check(m)
	}
	for _, l := range letters() {
		p.post(l)
	}
	p.w.until(time.Second, func() bool { return len(p.arrived) == 5 && p.w.quiet() })
}

// TestCloseWhileDelivering closes the endpoint in its own handler: what follows is dropped.
func TestCloseWhileDelivering(t *testing.T) {
	p := newPair(t, am2.Defaults())
	p.hy.arrived = func(m *am2.Message) bool {
		p.arrived = append(p.arrived, m.Header)
		p.ey.Close()
		return false
	}
	p.y.asleep = true
	for _, l := range letters() {
		p.post(l)
	}
	p.w.until(time.Second, p.taken)
	p.y.asleep = false
	p.w.until(time.Second, func() bool { return len(p.arrived) == 1 && p.w.quiet() })
	if err := am2.Leaks(p.y.b); err != nil {
		t.Error(err)
	}
}

// TestWeights keeps three endpoints busy and counts whose messages are delivered.
func TestWeights(t *testing.T) {
	cfg := am2.Defaults()
	w := newWorld(t)
	x, y := w.add(cfg), w.add(cfg)
	weights := []int{1, 2, 5}
	got := make([]int, 3)
	from := x.endpoint(0, 1, &handler{})
	for i, weight := range weights {
		y.endpoint(uint16(i), weight, &handler{arrived: func(*am2.Message) bool { got[i]++; return false }})
		if err := from.Map(uint32(i), y.name(uint16(i)), jobTag); err != nil {
			t.Fatal(err)
		}
	}
	for i := range weights {
		for range 200 {
			op := am2.Op{Index: uint32(i)}
			if r := from.Reserve(&op); r != am2.Reserved {
				t.Fatal(r)
			}
			from.Commit(&op)
		}
	}
	y.asleep = true
	w.until(time.Second, func() bool { return x.b.Unacknowledged() == 0 })
	for round := 1; round <= 30; round++ {
		if n := y.b.Deliver(w.now, 8); n != 8 {
			t.Fatalf("Deliver(8) = %d", n)
		}
		for i, weight := range weights {
			if got[i] != round*weight {
				t.Fatalf("after %d rounds: %v by weights %v", round, got, weights)
			}
		}
	}
}

// TestSendWeights has two endpoints send bulk to one peer: packets go by weight.
func TestSendWeights(t *testing.T) {
	w := newWorld(t)
	x, y := w.add(am2.Defaults()), w.add(am2.Defaults())
	var sent [2]int
	var ratio [2]int
	y.endpoint(9, 1, &handler{segment: make([]byte, 1<<20)})
	w.fate = func(from, _ *node, d []byte) []time.Duration {
		if from == x {
			source, _ := am2.Ends(d)
			if sent[source]++; sent[0]+sent[1] == 400 {
				ratio = sent
			}
		}
		return []time.Duration{propagation}
	}
	for i := range uint16(2) {
		e := x.endpoint(i, 1+3*int(i), &handler{})
		if err := e.Map(0, y.name(9), jobTag); err != nil {
			t.Fatal(err)
		}
		op := am2.Op{Kind: am2.Long, Len: 1 << 20, Src: make([]byte, 1<<20)}
		if r := e.Reserve(&op); r != am2.Reserved {
			t.Fatal(r)
		}
		e.Commit(&op)
	}
	w.until(time.Second, w.quiet)
	if r := float64(ratio[1]) / float64(ratio[0]); r < 3.5 || r > 4.5 {
		t.Errorf("packets by weights 1 and 4: %v", ratio)
	}
}

// TestPacking checks when messages leave: the first at once, those that follow together.
func TestPacking(t *testing.T) {
	p := newPair(t, am2.Defaults())
	p.x.step, p.x.asleep, p.y.asleep = func() {}, true, true
	for i := range uint32(50) {
		if !p.post(letter{id: i + 1, nargs: 2}) {
			t.Fatal("no room")
		}
		if p.w.sent != 1 {
			t.Fatalf("%d datagrams after %d messages", p.w.sent, i+1)
		}
	}
	if due := p.x.b.Due(); due != 0 {
		t.Errorf("Due is %v though messages have gathered", due)
	}
	p.x.b.Service(p.w.now)
	if p.w.sent != 1 {
		t.Fatal("gathered messages were sent though one was just added")
	}
	p.x.b.Service(p.w.now)
	if p.w.sent != 2 {
		t.Fatalf("%d datagrams after a Service without a Commit before it", p.w.sent)
	}
	p.y.asleep = false
	p.w.until(time.Second, func() bool { return len(p.arrived) == 50 && p.w.quiet() })
}

// TestOldEnough adds a message before every Service: the packet leaves when it is old enough.
func TestOldEnough(t *testing.T) {
	p := newPair(t, am2.Defaults())
	for i := range uint32(7) {
		p.post(letter{id: i + 1, nargs: 1})
		p.x.b.Service(p.w.now)
		if want := 1 + int(i)/6; p.w.sent != want {
			t.Fatalf("%d datagrams after %v", p.w.sent, p.w.now)
		}
		p.w.now += 2 * time.Microsecond
	}
}

// TestHeldReservation keeps a reservation open in the packet in which others gather: it holds
// none of them up, be they sent before others are added or after.
func TestHeldReservation(t *testing.T) {
	t.Run("before", func(t *testing.T) { holdReservation(t, true) })
	t.Run("after", func(t *testing.T) { holdReservation(t, false) })
}

func holdReservation(t *testing.T, sentBefore bool) {
	p := newPair(t, am2.Defaults())
	l := letter{id: 100, kind: am2.Medium, nargs: 2, size: 300}
	p.letters[l.id] = l
	for i := range uint32(5) {
		p.post(letter{id: i + 1, nargs: 2})
	}
	op := l.op(0)
	if r := p.ex.Reserve(&op); r != am2.Reserved {
		t.Fatal(r)
	}
	if sentBefore {
		p.w.until(time.Second, func() bool { return len(p.arrived) == 5 })
	}
	for i := range uint32(5) {
		p.post(letter{id: i + 10, nargs: 2})
	}
	p.w.until(time.Second, func() bool { return len(p.arrived) == 10 })
	l.fill(&op)
	p.ex.Commit(&op)
	p.w.until(time.Second, func() bool { return len(p.arrived) == 11 && p.w.quiet() })
}

// TestNoAllocation checks that nothing is allocated once warm.
func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	x, y := newPipes(t, am2.Defaults())
	var op, rop am2.Op
	op.NArgs, rop.NArgs = 2, 1
	y.h.arrived, y.h.segment = reply(&rop), make([]byte, 1<<20)
	src := make([]byte, 200_000)
	rounds := func() {
		for range 300 {
			if !x.send(&op) {
				t.Fatal("no room")
			}
		}
		for _, kind := range []am2.Kind{am2.Medium, am2.Long} {
			big := am2.Op{Kind: kind, Len: 50_000}
			if x.e.Reserve(&big) != am2.Reserved {
				t.Fatal("no room for bulk")
			}
			x.e.Commit(&big)
		}
		lent := am2.Op{Kind: am2.Long, Len: len(src), Src: src}
		if x.e.Reserve(&lent) != am2.Reserved {
			t.Fatal("no room for what is lent")
		}
		x.e.Commit(&lent)
		for x.b.Unacknowledged()+y.b.Unacknowledged() > 0 {
			y.poll()
			x.poll()
			x.now += 50 * time.Microsecond
			y.now += 50 * time.Microsecond
		}
	}
	for range 20 {
		rounds()
	}
	if n := testing.AllocsPerRun(100, rounds); n > 0 {
		t.Errorf("%v allocations in a round", n)
	}
}

// TestIdlePeer measures what peers cost that are at rest, and entries that were never used.
func TestIdlePeer(t *testing.T) {
	const n = 4000
	cfg := am2.Defaults()
	cfg.Pack = am2.MinDatagram
	hub, _ := newPipes(t, cfg)
	before := heapBytes()
	for i := range uint32(n) {
		name := am2.Name{Addr: peerAddr(n - 1 - i), Incarnation: 1}
		if err := hub.e.Map(n-1-i, name, jobTag); err != nil {
			t.Fatal(err)
		}
	}
	warm := heapBytes()
	if each := (warm - before) / n; each > 100 {
		t.Errorf("an entry takes %d bytes", each)
	}
	for i := range uint32(n) {
		greet(t, hub, i, cfg)
	}
	if s := hub.b.Stats(); s.Requests != n || s.Replies != n {
		t.Fatalf("%+v", s)
	}
	each := (heapBytes() - warm) / n
	t.Logf("a peer at rest takes %d bytes", each)
	if each >= 1024 {
		t.Errorf("a peer at rest takes %d bytes", each)
	}
	runtime.KeepAlive(hub)
}

func peerAddr(i uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 9)
}

// heapBytes returns how many bytes are in use.
func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// greet makes a peer that exchanges a request and a reply each way with the hub, and vanishes.
func greet(t *testing.T, hub *pipe, index uint32, cfg am2.Config) {
	p, _ := newPipes(t, cfg)
	p.addr, p.peer, hub.peer = peerAddr(index), hub, p
	if err := p.e.Map(0, am2.Name{Addr: hub.addr, Incarnation: 1}, jobTag); err != nil {
		t.Fatal(err)
	}
	hub.used, hub.boxes = 0, nil
	rop := am2.Op{NArgs: 1}
	p.h.arrived, hub.h.arrived = reply(&rop), reply(&rop)
	op := am2.Op{NArgs: 2}
	if !p.send(&op) {
		t.Fatal("no room")
	}
	op.Index = index
	if !hub.send(&op) {
		t.Fatal("no room")
	}
	for i := 0; i < 3 || hub.b.Unacknowledged()+p.b.Unacknowledged() > 0; i++ {
		p.poll()
		hub.poll()
		p.now += 50 * time.Microsecond
		hub.now += 50 * time.Microsecond
		if i > 100 {
			t.Fatal("does not come to rest")
		}
	}
}
