package am2_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// exchange has every endpoint send random letters to random others, some of which reply, and
// checks that each is delivered exactly once and unharmed.
type exchange struct {
	w         *world
	r         *rand.Rand
	ends      []*member
	letters   map[uint32]*mail
	delivered int
	expected  int
	lent      int
	nextID    uint32
	slack     int // bytes, less one, that a reservation may have too many
}

// mail is what the exchange knows of a letter.
type mail struct {
	letter
	from, to *member
	reply    *mail // nil: none
	count    int
	back     int // times returned
}

type member struct {
	x        *exchange
	node     *node
	e        *am2.Endpoint
	h        *handler
	index    uint32
	todo     []*mail
	reserved []reservation
	used     int // bytes of its segment given to Longs
}

type reservation struct {
	op   am2.Op
	mail *mail
}

// lentPayload counts its completion, and is overwritten then.
type lentPayload struct {
	x *exchange
	b []byte
	n int
}

func (l *lentPayload) Complete() {
	l.n++
	l.x.lent--
	clear(l.b)
}

const segment = 1 << 22

func newExchange(w *world, seed uint64, nodes, endpoints int, cfg am2.Config) *exchange {
	x := &exchange{w: w, r: rand.New(rand.NewPCG(seed, 1)), letters: make(map[uint32]*mail), slack: 2000}
	if cfg.ReplyAcks {
		x.slack = 1
	}
	for range nodes {
		n := w.add(cfg)
		first := len(x.ends)
		for j := range endpoints {
			m := &member{x: x, node: n, index: uint32(len(x.ends)), h: &handler{}}
			m.h.arrived = m.arrived
			m.e = n.endpoint(uint16(j), 1+j, m.h)
			x.ends = append(x.ends, m)
		}
		mine := x.ends[first:]
		n.step = func() {
			for _, m := range mine {
				m.step()
			}
		}
	}
	for _, m := range x.ends {
		for i, to := range x.ends {
			if err := m.e.Map(uint32(i), to.node.name(to.number()), jobTag); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return x
}

func (m *member) number() uint16 { return uint16(m.index) % uint16(len(m.x.ends)/len(m.x.w.nodes)) }

// letter makes a letter from one to another.
func (x *exchange) letter(from, to *member, medium, long int) *mail {
	x.nextID++
	ml := &mail{letter: randomLetter(x.r, x.nextID, medium, long), from: from, to: to}
	if ml.kind == am2.Long {
		if to.used+ml.size > segment {
			ml.size = 0
		}
		ml.off = to.used
		to.used += ml.size
		to.grow(to.used)
	}
	x.letters[ml.id] = ml
	x.expected++
	return ml
}

// grow has the segment hold so many bytes.
func (m *member) grow(n int) {
	if d := n - len(m.h.segment); d > 0 {
		m.h.segment = append(m.h.segment, make([]byte, d)...)
	}
}

// post gives everybody so many letters to send.
func (x *exchange) post(each, medium, long int) {
	for _, m := range x.ends {
		for range each {
			to := x.ends[x.r.IntN(len(x.ends))]
			ml := x.letter(m, to, medium, long)
			if x.r.IntN(2) == 0 {
				ml.reply = x.letter(to, m, medium, long)
			}
			m.todo = append(m.todo, ml)
		}
	}
}

// step sends what it can: now and then with reservations that stay open, are committed in
// another order, or become shorter.
func (m *member) step() {
	r := m.x.r
	for len(m.reserved) > 0 && r.IntN(4) > 0 {
		i := r.IntN(len(m.reserved))
		res := m.reserved[i]
		m.reserved = append(m.reserved[:i], m.reserved[i+1:]...)
		m.e.Commit(&res.op)
	}
	for len(m.todo) > 0 {
		ml := m.todo[0]
		op := ml.op(ml.to.index)
		if r.IntN(2) == 0 && ml.size > 0 {
			lent := &lentPayload{x: m.x, b: ml.payload()}
			op.Src, op.Sent = lent.b, lent
		}
		if op.Src == nil && ml.kind != am2.Short && r.IntN(4) == 0 {
			op.Len += r.IntN(m.x.slack) // it will be less at Commit
		}
		if res := m.e.Reserve(&op); res == am2.NoRoom {
			break
		} else if res != am2.Reserved {
			m.x.w.t.Fatalf("Reserve: %v", res)
		}
		m.todo = m.todo[1:]
		if op.Src != nil && op.Data == nil {
			m.x.lent++
		}
		op.Len = ml.size
		ml.fill(&op)
		if r.IntN(4) == 0 {
			m.reserved = append(m.reserved, reservation{op, ml})
			continue
		}
		m.e.Commit(&op)
	}
	if len(m.todo) > 0 || len(m.reserved) > 0 {
		m.node.wake(m.x.w.now + 20*time.Microsecond)
	}
}

func (m *member) arrived(msg *am2.Message) bool {
	x := m.x
	ml := x.letters[msg.Header]
	if ml == nil || ml.to != m {
		x.w.t.Fatalf("endpoint %d got a message that was not sent to it: %+v", m.index, msg)
	}
	if ml.count++; ml.count > 1 || ml.back > 0 {
		x.w.t.Fatalf("letter %d delivered %d times, returned %d times", ml.id, ml.count, ml.back)
	}
	if err := ml.check(msg); err != nil {
		x.w.t.Fatal(err)
	}
	if msg.Index != ml.from.index || msg.Remote() != ml.from.node.name(ml.from.number()) {
		x.w.t.Fatalf("letter %d from %d arrived as from %d, %v", ml.id, ml.from.index, msg.Index, msg.Remote())
	}
	x.delivered++
	if ml.reply == nil {
		return false
	}
	op := ml.reply.op(0)
	if res := msg.Endpoint.ReserveReply(&op); res != am2.Reserved {
		x.w.t.Fatalf("ReserveReply: %v", res)
	}
	ml.reply.fill(&op)
	msg.Endpoint.CommitReply(&op)
	return true
}

func (x *exchange) done() bool { return x.delivered == x.expected && x.lent == 0 && x.w.quiet() }

// finish runs the exchange to its end.
func (x *exchange) finish(limit time.Duration) {
	x.w.t.Helper()
	defer func() {
		if x.w.t.Failed() {
			x.w.t.Logf("%d of %d delivered, %d payloads lent", x.delivered, x.expected, x.lent)
			for _, n := range x.w.nodes {
				x.w.t.Logf("%v: %+v, %d unacknowledged, backlog %d", n.addr, n.b.Stats(), n.b.Unacknowledged(), n.b.Backlog())
			}
		}
	}()
	x.w.until(limit, x.done)
	for _, n := range x.w.nodes {
		if s := n.b.Stats(); s.Malformed > 0 {
			x.w.t.Errorf("%v: %+v", n.addr, s)
		}
		if err := am2.Leaks(n.b); err != nil {
			x.w.t.Errorf("%v: %v", n.addr, err)
		}
	}
}

func TestExchangeClean(t *testing.T) {
	x := newExchange(newWorld(t), 1, 3, 2, am2.Defaults())
	x.post(300, 20_000, 100_000)
	x.finish(time.Second)
	for _, n := range x.w.nodes {
		if s := n.b.Stats(); s.Retransmissions > 0 {
			t.Errorf("retransmissions on a clean network: %+v", s)
		}
	}
}

// scarce has as little of everything as may be.
func scarce() am2.Config {
	c := am2.Defaults()
	c.Depth, c.Window = 2, 2
	c.Packets, c.Replies, c.Stages = 2, 2, 1
	c.Receive, c.ReceiveBytes, c.Assemblies = 1, c.Datagram, 0
	c.Pack = am2.MinDatagram
	return c
}

var seeds = flag.Int("seeds", defaultSeeds, "number of seeds of the random tests")

// limit is the virtual time in which every exchange must have ended.
const limit = 10 * time.Minute

func TestExchangeLossy(t *testing.T) {
	for _, c := range []struct {
		name               string
		cfg                am2.Config
		loss, dup, reorder float64
		each               int
	}{
		{"1%", am2.Defaults(), 0.01, 0.01, 0.01, 200},
		{"10%", am2.Defaults(), 0.1, 0.1, 0.2, 200},
		{"50%", am2.Defaults(), 0.5, 0.2, 0.5, 40},
		{"reordered", am2.Defaults(), 0, 0, 1, 200},
		{"duplicated", am2.Defaults(), 0, 1, 0.5, 100},
		{"scarce", scarce(), 0, 0, 0, 60},
		{"scarce 10%", scarce(), 0.1, 0.1, 0.2, 40},
		{"scarce 40%", scarce(), 0.4, 0.1, 0.5, 15},
	} {
		for seed := range uint64(*seeds) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				w := newWorld(t)
				x := newExchange(w, seed, 3, 2, c.cfg)
				w.fate = lossy(x.r, c.loss, c.dup, c.reorder)
				x.post(c.each, 10_000, 30_000)
				x.finish(limit)
			})
		}
	}
}

// TestWrap has all sequence numbers and counts wrap around.
func TestWrap(t *testing.T) {
	for _, cfg := range []am2.Config{am2.Defaults(), am2.HPAM()} {
		w := newWorld(t)
		x := newExchange(w, 4, 3, 1, cfg)
		most := 5000
		if cfg.ReplyAcks {
			most = 1000
		}
		x.post(50, most, most)
		x.finish(limit)
		for _, n := range w.nodes {
			am2.Shift(n.b, ^uint32(63))
		}
		w.fate = lossy(x.r, 0.1, 0.1, 0.2)
		x.post(200, most, most)
		x.finish(limit)
	}
}
