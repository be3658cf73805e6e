package matching_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
)

// oracle is MPI's rule for one rank, spelt out: two lists, searched from the front.
type oracle struct {
	posted  []want
	waiting []sent
	most    int
}

type want struct {
	from, tag int32
	id        uint64
}

type sent struct {
	from, tag int32
	serial    int // of the message
}

func fits(w want, s sent) bool {
	return w.tag == s.tag && (w.from == matching.AnySource || w.from == s.from)
}

// receive posts a receive and returns the message that it gets at once, or -1.
func (o *oracle) receive(w want) int {
	for i, s := range o.waiting {
		if fits(w, s) {
			o.waiting = slices.Delete(o.waiting, i, i+1)
			return s.serial
		}
	}
	o.posted = append(o.posted, w)
	return -1
}

// arrive returns the receive that gets the message, or false.
func (o *oracle) arrive(s sent) (uint64, bool) {
	for i, w := range o.posted {
		if fits(w, s) {
			o.posted = slices.Delete(o.posted, i, i+1)
			return w.id, true
		}
	}
	o.waiting = append(o.waiting, s)
	o.most = max(o.most, len(o.waiting))
	return 0, false
}

const (
	ranks  = 3
	eager  = 16
	fullOf = 64 // bytes of every receive
)

// world is some engines, the network between them, and what must become of it all.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	engines [ranks]*matching.Engine
	oracles [ranks]oracle
	links   [ranks][ranks][]matching.Message // in order
	sends   [][]byte                         // payloads by serial
	sent    []bool
	wants   []*wanted      // receives by id
	pairs   map[uint64]int // receive id to serial, as the oracle says
	queued  [ranks][]int   // serials whose envelope has not left yet
}

type wanted struct {
	rank int
	buf  []byte
	done bool
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), pairs: map[uint64]int{}}
	for r := range w.engines {
		w.engines[r] = matching.New(int32(r), eager)
	}
	return w
}

func (w *world) send(from int) {
	serial := len(w.sends)
	buf := make([]byte, w.rnd.IntN(fullOf+1))
	for i := range buf {
		buf[i] = byte(serial + i)
	}
	w.sends, w.sent = append(w.sends, buf), append(w.sent, false)
	w.queued[from] = append(w.queued[from], serial)
	w.engines[from].Send(int32(w.rnd.IntN(ranks)), int32(w.rnd.IntN(2)), buf, uint64(serial))
	w.transmit(from)
}

func (w *world) receive(rank int) {
	id := uint64(len(w.wants))
	from, tag := int32(w.rnd.IntN(ranks+1)-1), int32(w.rnd.IntN(2))
	r := &wanted{rank: rank, buf: make([]byte, fullOf)}
	w.wants = append(w.wants, r)
	if serial := w.oracles[rank].receive(want{from, tag, id}); serial >= 0 {
		w.pairs[id] = serial
	}
	if err := w.engines[rank].Receive(from, tag, r.buf, id); err != nil {
		w.t.Fatal(err)
	}
	w.transmit(rank)
}

// transmit puts what an engine has to say on the links, payloads of Data in two parts.
func (w *world) transmit(rank int) {
	e := w.engines[rank]
	for m, ok := e.Next(); ok; m, ok = e.Next() {
		link := &w.links[m.From][m.To]
		m.Payload = bytes.Clone(m.Payload)
		switch m.Kind {
		case matching.Eager, matching.Request:
			serial := w.queued[rank][0]
			w.queued[rank] = w.queued[rank][1:]
			m.Offset = serial // the engine ignores it here
			*link = append(*link, m)
		case matching.Data:
			half := len(m.Payload) / 2
			a, b := m, m
			a.Payload = m.Payload[:half]
			b.Payload, b.Offset = m.Payload[half:], half
			*link = append(*link, b, a)
		default:
			*link = append(*link, m)
		}
		e.Sent(m)
	}
	for c, ok := e.Completed(); ok; c, ok = e.Completed() {
		w.completed(rank, c)
	}
}

func (w *world) completed(rank int, c matching.Completion) {
	if !c.Receive {
		if w.sent[c.ID] || c.Len != len(w.sends[c.ID]) {
			w.t.Fatalf("send %d completes twice or with %d bytes of %d", c.ID, c.Len, len(w.sends[c.ID]))
		}
		w.sent[c.ID] = true
		return
	}
	r := w.wants[c.ID]
	serial, ok := w.pairs[c.ID]
	if !ok || r.done || r.rank != rank {
		w.t.Fatalf("receive %d completes, but was not matched", c.ID)
	}
	r.done = true
	if data := w.sends[serial]; c.Len != len(data) || !bytes.Equal(r.buf[:c.Len], data) {
		w.t.Fatalf("receive %d should get message %d, %x, has %x", c.ID, serial, data, r.buf[:c.Len])
	}
}

// arrive lets the first message of a random link arrive; false if all are empty.
func (w *world) arrive() bool {
	start := w.rnd.IntN(ranks * ranks)
	for i := range ranks * ranks {
		at := (start + i) % (ranks * ranks)
		link := &w.links[at/ranks][at%ranks]
		if len(*link) == 0 {
			continue
		}
		m := (*link)[0]
		*link = (*link)[1:]
		if m.Kind == matching.Eager || m.Kind == matching.Request {
			serial := m.Offset
			m.Offset = 0
			if id, ok := w.oracles[m.To].arrive(sent{m.From, m.Tag, serial}); ok {
				w.pairs[id] = serial
			}
		}
		if err := w.engines[m.To].Handle(m); err != nil {
			w.t.Fatal(err)
		}
		w.transmit(int(m.To))
		return true
	}
	return false
}

// TestMatching compares random traffic with the oracle: which receive gets which message, the
// bytes, and how deep the unexpected queue becomes.
func TestMatching(t *testing.T) {
	for seed := range uint64(200) {
		w := newWorld(t, seed)
		for range 300 {
			switch w.rnd.IntN(4) {
			case 0:
				w.send(w.rnd.IntN(ranks))
			case 1:
				w.receive(w.rnd.IntN(ranks))
			default:
				w.arrive()
			}
		}
		for w.arrive() {
		}
		matched := 0
		for id, r := range w.wants {
			if _, ok := w.pairs[uint64(id)]; ok != r.done {
				t.Fatalf("seed %d: receive %d matched %v, done %v", seed, id, ok, r.done)
			} else if ok {
				matched++
			}
		}
		if matched == 0 {
			t.Fatalf("seed %d: nothing was received", seed)
		}
		for r, e := range w.engines {
			now, most := e.Unexpected()
			if o := &w.oracles[r]; now != len(o.waiting) || most != o.most {
				t.Errorf("seed %d: rank %d: %d unexpected, at most %d; want %d and %d", seed, r, now, most, len(o.waiting), o.most)
			}
		}
	}
}

// A large message leaves when it is matched, and not before.
func TestRendezvous(t *testing.T) {
	a, b := matching.New(0, eager), matching.New(1, eager)
	a.Send(1, 5, make([]byte, eager+1), 7)
	m, _ := a.Next()
	if m.Kind != matching.Request || m.Size != eager+1 || m.Payload != nil {
		t.Fatalf("first message %+v", m)
	}
	a.Sent(m)
	if err := b.Handle(m); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Next(); ok {
		t.Fatal("an unmatched message is granted")
	}
	if _, ok := a.Completed(); ok {
		t.Fatal("the send is complete before its payload has left")
	}
	if err := b.Receive(0, 5, make([]byte, eager+1), 8); err != nil {
		t.Fatal(err)
	}
	if m, _ = b.Next(); m.Kind != matching.Grant {
		t.Fatalf("second message %+v", m)
	}
	if err := a.Handle(m); err != nil {
		t.Fatal(err)
	}
	if err := a.Handle(m); err == nil {
		t.Fatal("a second grant is accepted")
	}
	m, _ = a.Next()
	if err := b.Handle(m); err != nil {
		t.Fatal(err)
	}
	if c, ok := b.Completed(); !ok || c != (matching.Completion{ID: 8, Receive: true, Source: 0, Tag: 5, Len: eager + 1}) {
		t.Fatalf("completion %+v, %v", c, ok)
	}
}

// TestCopied counts the copies of an eager message that is expected, of one that is not, and of a
// large one that comes in two parts.
func TestCopied(t *testing.T) {
	const at, from = 0, 1
	e := matching.New(at, eager)
	want := func(what string, payloads, bytes int) {
		t.Helper()
		if n, b := e.Copied(); n != payloads || b != bytes {
			t.Errorf("%s: %d copies of %d bytes, want %d of %d", what, n, b, payloads, bytes)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	short := matching.Message{Kind: matching.Eager, From: from, To: at, Size: eager, Payload: make([]byte, eager)}
	check(e.Receive(from, 0, make([]byte, eager), 1))
	check(e.Handle(short))
	want("expected", 1, eager)
	check(e.Handle(short))
	want("unexpected", 1, eager)
	check(e.Receive(from, 0, make([]byte, eager), 2))
	want("unexpected, and received", 1, eager)
	check(e.Handle(matching.Message{Kind: matching.Eager, From: from, To: at}))
	check(e.Receive(from, 0, nil, 3))
	want("empty", 0, 0)
	check(e.Receive(from, 0, make([]byte, 3*eager), 4))
	check(e.Handle(matching.Message{Kind: matching.Request, From: from, To: at, Size: 3 * eager}))
	grant, _ := e.Next()
	for off := 0; off < 3*eager; off += 2 * eager {
		part := make([]byte, min(2*eager, 3*eager-off))
		check(e.Handle(matching.Message{Kind: matching.Data, From: from, To: at, Size: 3 * eager, Offset: off, Recv: grant.Recv, Payload: part}))
	}
	want("large, in two parts", 2, 3*eager)
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		m    matching.Message
		want string
	}{
		{matching.Message{To: 1}, "for rank 1"},
		{matching.Message{Size: -1}, "-1 bytes"},
		{matching.Message{Size: 2, Payload: []byte{1}}, "2 bytes with 1"},
		{matching.Message{Kind: 9}, "unknown kind"},
		{matching.Message{Kind: matching.Grant, Send: 3}, "not sent"},
		{matching.Message{Kind: matching.Data, Recv: 3}, "not granted"},
		{matching.Message{Kind: matching.Data, From: 2, Recv: 0, Payload: []byte{1}}, "was not granted to rank 2"},
		{matching.Message{Tag: 1, Size: 9, Payload: make([]byte, 9)}, "for a receive of 8"},
	} {
		e := matching.New(0, eager)
		if err := e.Receive(matching.AnySource, 1, make([]byte, 8), 0); err != nil {
			t.Fatal(err)
		}
		if err := e.Handle(tc.m); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.m, err, tc.want)
		}
	}
}

// FuzzHandle lets arbitrary messages arrive: none panics, none writes outside a buffer, and
// what completes was posted.
func FuzzHandle(f *testing.F) {
	f.Add([]byte{0, 0, 1, 3, 0, 0, 0, 1, 0, 1, 200, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 50})
	f.Fuzz(func(t *testing.T, in []byte) {
		e := matching.New(0, eager)
		guard := make([]byte, 3*fullOf)
		for i := range uint64(2) {
			if err := e.Receive(matching.AnySource, 1, guard[fullOf:2*fullOf:2*fullOf], i); err != nil {
				t.Fatal(err)
			}
		}
		e.Send(1, 1, make([]byte, eager+1), 9)
		payload := bytes.Repeat([]byte{0xff}, 255)
		for ; len(in) >= 8; in = in[8:] {
			_ = e.Handle(matching.Message{
				Kind: matching.Kind(in[0] % 5), From: int32(in[1]), To: int32(in[2] / 128), Tag: int32(in[3]),
				Size: int(in[4]), Offset: int(int8(in[5])), Send: uint32(in[6] % 4), Recv: uint32(in[6] / 64), Payload: payload[:in[7]],
			})
		}
		for m, ok := e.Next(); ok; m, ok = e.Next() {
			e.Sent(m)
		}
		seen := map[uint64]bool{}
		for c, ok := e.Completed(); ok; c, ok = e.Completed() {
			if seen[c.ID] || c.Receive && c.ID > 1 || !c.Receive && c.ID != 9 {
				t.Fatalf("completion %+v", c)
			}
			seen[c.ID] = true
		}
		for i, b := range guard {
			if b != 0 && (i < fullOf || i >= 2*fullOf) {
				t.Fatalf("byte %d was written", i-fullOf)
			}
		}
	})
}

// In steady state nothing is allocated.
func TestAllocations(t *testing.T) {
	a, b := matching.New(0, eager), matching.New(1, eager)
	small, large, in := make([]byte, eager), make([]byte, fullOf), make([]byte, fullOf)
	pass := func(from, to *matching.Engine) {
		for m, ok := from.Next(); ok; m, ok = from.Next() {
			if err := to.Handle(m); err != nil {
				t.Error(err)
			}
			from.Sent(m)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, buf := range [][]byte{small, large} {
			a.Send(1, 0, buf, 1)
			pass(a, b)
			if err := b.Receive(0, 0, in, 2); err != nil {
				t.Error(err)
			}
			pass(b, a)
			pass(a, b)
			if c, ok := b.Completed(); !ok || c.Len != len(buf) {
				t.Errorf("completion %+v, %v", c, ok)
			}
			if c, ok := a.Completed(); !ok || c.ID != 1 {
				t.Errorf("completion %+v, %v", c, ok)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleKind_String() {
	fmt.Println(matching.Eager, matching.Data, matching.Kind(7))
	// Output: eager data Kind(7)
}
