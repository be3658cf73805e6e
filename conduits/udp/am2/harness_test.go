package am2_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// world is a network in virtual time. Its nodes run when something arrives or a time has come
// that they have asked for.
type world struct {
	t     testing.TB
	now   time.Duration
	queue vtime.Queue[event]
	nodes []*node
	mtu   int

	// fate says after which delays the copies of a datagram arrive: none if it is lost.
	fate   func(from, to *node, datagram []byte) []time.Duration
	sent   int // datagrams
	flying int // of them, not received yet
	// times is what Send was told at most for one that is longer than MinDatagram.
	times int
}

type event struct {
	at   time.Duration
	to   *node
	from *node
	data []byte // nil: a time that was asked for
}

// node is a process: a bundle, and what its program does.
type node struct {
	w      *world
	addr   netip.AddrPort
	b      *am2.Bundle
	asked  time.Duration // the earliest time it has asked for
	batch  []sent
	deaf   bool          // nobody is there any more
	asleep bool          // the program computes: nobody calls Deliver
	budget int           // of a Deliver
	every  time.Duration // how often the driver looks, if not at once
	step   func()        // the program, called after each Deliver
}

// sent is a datagram between Send and Flush.
type sent struct {
	to         netip.AddrPort
	head, body []byte
	copied     []byte
}

// mostSteps is the number of events after which a test makes no progress.
const mostSteps = 3_000_000

const propagation = 5 * time.Microsecond

func newWorld(t testing.TB) *world {
	return &world{t: t, mtu: 1472, fate: func(_, _ *node, _ []byte) []time.Duration { return []time.Duration{propagation} }}
}

func (w *world) add(cfg am2.Config) *node {
	i := len(w.nodes)
	n := &node{
		w: w, addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 4000),
		asked: am2.Never, budget: 64, step: func() {},
	}
	b, err := am2.NewBundle(cfg, n)
	if err != nil {
		w.t.Fatal(err)
	}
	n.b = b
	w.nodes = append(w.nodes, n)
	return n
}

// Wire

func (n *node) Now() time.Duration     { return n.w.now }
func (n *node) MTU(netip.AddrPort) int { return n.w.mtu }

func (n *node) Send(to netip.AddrPort, head, body []byte, times int) {
	d := append(slices.Clone(head), body...)
	if len(d) > am2.MinDatagram {
		n.w.times = max(n.w.times, times)
	}
	if len(d) > n.w.mtu {
		n.w.t.Fatalf("a datagram of %d bytes, MTU %d", len(d), n.w.mtu)
	}
	n.batch = append(n.batch, sent{to, head, body, d})
}

func (n *node) Flush() {
	for _, s := range n.batch {
		if !bytes.Equal(s.copied[:len(s.head)], s.head) || !bytes.Equal(s.copied[len(s.head):], s.body) {
			n.w.t.Fatalf("node %v: a datagram changed between Send and Flush", n.addr)
		}
		n.w.carry(n, s.to, s.copied)
	}
	n.batch = n.batch[:0]
}

func (w *world) carry(from *node, to netip.AddrPort, d []byte) {
	w.sent++
	for _, n := range w.nodes {
		if n.addr == to && !n.deaf && !from.deaf {
			for _, delay := range w.fate(from, n, d) {
				w.push(event{at: n.seen(w.now + delay), to: n, from: from, data: d})
			}
		}
	}
}

func (w *world) push(e event) {
	w.queue.Push(vtime.FromDuration(e.at), e)
	if e.data != nil {
		w.flying++
	}
}

// next returns the event that comes next; there must be one.
func (w *world) next() *event {
	_, e := w.queue.First()
	return e
}

// pop takes it.
func (w *world) pop() event {
	_, e := w.queue.Pop()
	if e.data != nil {
		w.flying--
	}
	return e
}

// wake has a node run at a time.
func (n *node) wake(at time.Duration) {
	if at >= n.asked {
		return
	}
	if n.asked = at; at < am2.Never {
		n.asked = n.seen(max(at, n.w.now))
		n.w.push(event{at: n.asked, to: n})
	}
}

// seen returns when the driver sees what is there at a time.
func (n *node) seen(at time.Duration) time.Duration {
	if n.every == 0 {
		return at
	}
	return (at + n.every - 1) / n.every * n.every
}

// receive hands a datagram over as a driver does.
func (n *node) receive(from *node, d []byte) {
	k := n.b.Block()
	m := copy(k.Bytes(), d)
	n.b.Receive(n.w.now, from.addr, k, k.Bytes()[:m])
	k.Release()
}

// run is one poll of the program, or one round of the background service.
func (n *node) run() {
	n.asked = am2.Never
	if !n.asleep {
		for n.b.Deliver(n.w.now, n.budget) > 0 {
			n.b.Service(n.w.now)
		}
		n.step()
	}
	n.wake(n.b.Service(n.w.now))
	if n.b.Backlog() > 0 && !n.asleep {
		n.wake(n.w.now)
	}
	if len(n.batch) > 0 {
		n.w.t.Fatalf("node %v: Service left %d datagrams without a Flush", n.addr, len(n.batch))
	}
}

// until runs the world until done, for at most the given time.
func (w *world) until(limit time.Duration, done func() bool) {
	w.t.Helper()
	end := w.now + limit
	for _, n := range w.nodes {
		n.asked = am2.Never
		n.wake(w.now)
	}
	for steps := 0; !done(); steps++ {
		if steps > mostSteps || w.queue.Len() == 0 || w.next().at > end {
			w.t.Fatalf("not done at %v after %d steps, limit %v (%d events left, %d datagrams sent)", w.now, steps, limit, w.queue.Len(), w.sent)
		}
		e := w.pop()
		w.now = e.at
		if e.to.deaf || e.data == nil && e.at != e.to.asked {
			continue // it has asked for an earlier time since
		}
		if e.data != nil {
			e.to.receive(e.from, e.data)
			for w.queue.Len() > 0 && w.next().at == w.now && w.next().to == e.to && w.next().data != nil {
				e := w.pop()
				e.to.receive(e.from, e.data)
			}
		}
		e.to.run()
	}
}

// quiet reports whether nothing is under way any more.
func (w *world) quiet() bool {
	for _, n := range w.nodes {
		if !n.deaf && (n.b.Unacknowledged() > 0 || n.b.Backlog() > 0) {
			return false
		}
	}
	return true
}

// lossy returns a fate: loss, duplication and reordering with the given probabilities.
func lossy(r *rand.Rand, loss, dup, reorder float64) func(_, _ *node, _ []byte) []time.Duration {
	return func(_, _ *node, _ []byte) (d []time.Duration) {
		if r.Float64() >= loss {
			d = append(d, propagation)
		}
		if r.Float64() < dup {
			d = append(d, propagation+time.Duration(r.IntN(50_000)))
		}
		for i := range d {
			if r.Float64() < reorder {
				d[i] += time.Duration(r.IntN(200_000))
			}
		}
		return d
	}
}

// letter is a message of the tests: its content follows from its number.
type letter struct {
	id    uint32
	kind  am2.Kind
	nargs int
	size  int
	off   int
}

func randomLetter(r *rand.Rand, id uint32, medium, long int) letter {
	x := letter{id: id, kind: am2.Kind(r.IntN(3)), nargs: 1 + r.IntN(am2.MaxArgs)}
	size := func(most int) int {
		switch r.IntN(4) {
		case 0:
			return r.IntN(64)
		case 1:
			return r.IntN(min(most, 3000) + 1)
		case 2:
			return r.IntN(most + 1)
		}
		return 0
	}
	switch x.kind {
	case am2.Medium:
		x.size = size(medium)
	case am2.Long:
		x.size = size(long)
	}
	return x
}

// payload returns the bytes of a letter.
func (x letter) payload() []byte {
	b := make([]byte, x.size)
	r := rand.NewPCG(uint64(x.id), 7)
	var word [8]byte
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(word[:], r.Uint64())
		copy(b[i:], word[:])
	}
	return b
}

func (x letter) op(index uint32) am2.Op {
	return am2.Op{Index: index, Header: x.id, Kind: x.kind, NArgs: x.nargs, Len: x.size, Offset: uint64(x.off)}
}

// fill writes the letter into what Reserve has set.
func (x letter) fill(op *am2.Op) {
	for i := range x.nargs {
		op.Args[i] = x.id*31 + uint32(i)
	}
	if op.Data != nil {
		copy(op.Data, x.payload())
	}
}

// check returns what is wrong with an arrived message that should be the letter.
func (x letter) check(m *am2.Message) error {
	if m.Header != x.id || m.Kind != x.kind || m.NArgs != x.nargs || m.Len != x.size {
		return fmt.Errorf("letter %+v arrived as header %d, kind %d, %d arguments, %d bytes", x, m.Header, m.Kind, m.NArgs, m.Len)
	}
	for i := range x.nargs {
		if m.Args[i] != x.id*31+uint32(i) {
			return fmt.Errorf("letter %+v: argument %d is %d", x, i, m.Args[i])
		}
	}
	if !bytes.Equal(m.Data, x.payload()) {
		return fmt.Errorf("letter %+v: wrong payload", x)
	}
	return nil
}

// handler is an am2.Handler of functions; nil ones do nothing.
type handler struct {
	segment  []byte
	arrived  func(m *am2.Message) bool
	returned func(m *am2.Message, r am2.Reason)
	lost     func(m *am2.Message, r am2.Reason)
}

func (h *handler) Arrived(m *am2.Message) bool { return h.arrived != nil && h.arrived(m) }
func (h *handler) Place(m *am2.Message) []byte {
	if m.Offset > uint64(len(h.segment)) || uint64(m.Len) > uint64(len(h.segment))-m.Offset {
		return nil
	}
	return h.segment[m.Offset:][:m.Len]
}
func (h *handler) Returned(m *am2.Message, r am2.Reason) {
	if h.returned != nil {
		h.returned(m, r)
	}
}
func (h *handler) Lost(m *am2.Message, r am2.Reason) {
	if h.lost != nil {
		h.lost(m, r)
	}
}

const jobTag am2.Tag = 0x1234

// endpoint adds an endpoint of the job to a node.
func (n *node) endpoint(number uint16, weight int, h am2.Handler) *am2.Endpoint {
	n.w.t.Helper()
	e, err := n.b.NewEndpoint(number, 1, jobTag, weight, h)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return e
}

func (n *node) name(number uint16) am2.Name {
	return am2.Name{Addr: n.addr, Number: number, Incarnation: 1}
}
