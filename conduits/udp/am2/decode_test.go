package am2

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// inBlock returns b in memory with slack behind it.
func inBlock(b []byte) []byte {
	m := make([]byte, len(b)+blockSlack)
	copy(m, b)
	return m[:len(b):len(b)]
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, byte(Short), 2, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0})
	f.Add([]byte{1, 2, 3, 4, byte(Medium), 0, 3, 0, 1, 2, 3, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 2, 3, 4, byte(Long), 1, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = inBlock(b)
		var m Message
		n, err := parseRecord(&m, b)
		if err != nil {
			return
		}
		if n > len(b) || n%unit != 0 || n != recordSize(m.Kind, m.NArgs, m.Len) || len(m.Data) != m.Len || m.NArgs > MaxArgs {
			t.Fatalf("%d of %d bytes: %+v", n, len(b), m)
		}
		// The same record written again reads the same.
		op := Op{Header: m.Header, Kind: m.Kind, NArgs: m.NArgs, Len: m.Len, Offset: m.Offset}
		c := slices.Clone(b[:n])
		putRecord(c, &op)
		if !bytes.Equal(c, b[:n]) {
			t.Fatalf("%x written again is %x", b[:n], c)
		}
	})
}

func FuzzFragment(f *testing.F) {
	k := bulk{header: 7, kind: Long, nargs: 3, offset: 99, count: 5, payload: make([]byte, 100)}
	b := make([]byte, fragmentHeader+16)
	putFragment(b, &k, 2, 40)
	f.Add(b, 20)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		if size < 0 || size > 1<<16 {
			return
		}
		p, err := parseFragment(b, size)
		if err != nil {
			return
		}
		if p.total < 1 || int(p.at)+size > p.total || p.nargs > MaxArgs || p.index >= p.count {
			t.Fatalf("%+v with %d bytes", p, size)
		}
		k := bulk{header: p.header, kind: p.kind, nargs: p.nargs, offset: p.offset, count: int(p.count)}
		copy(words(&k.args), p.args)
		k.payload = make([]byte, min(p.total, 1<<20))
		if len(k.payload) != p.total {
			return
		}
		c := make([]byte, len(b))
		putFragment(c, &k, int(p.index), int(p.at))
		if q, err := parseFragment(c, size); err != nil || q.total != p.total || q.at != p.at || !bytes.Equal(q.args, p.args) {
			t.Fatalf("%+v written again is %+v, %v", p, q, err)
		}
	})
}

func FuzzSelective(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		maps, ok := parseSelective(b)
		if ok && len(maps[requests])+len(maps[replies])+ackHeader != len(b) {
			t.Fatalf("%d bytes: maps of %d and %d", len(b), len(maps[requests]), len(maps[replies]))
		}
	})
}

func FuzzHead(f *testing.F) {
	b := make([]byte, 200)
	b[atVersion], b[atKind], b[atHead] = version, byte(fragReply), 16
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := HeadLen(b)
		if !ok {
			return
		}
		if n < FixedHead || n > len(b) {
			t.Fatalf("a head of %d in %d bytes", n, len(b))
		}
		var h header
		parseHeader(&h, b)
		if tag := BodyTag(b[:n]); (tag != nil) != (n < len(b)) {
			t.Fatalf("a tag of %d bytes for a body of %d", len(tag), len(b)-n)
		}
		if source, dest := Ends(b); source != h.source || dest != h.dest || Number(b) != h.number || len(HeadTag(b)) != TagSize {
			t.Fatal("the accessors do not agree with the header")
		}
	})
}

// TestTimers compares the heap with a search.
func TestTimers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := &Bundle{}
	pr := &peer{b: b}
	all := make([]*channel, 50)
	for i := range all {
		all[i] = &channel{peer: pr, due: Never, place: -1}
	}
	due := make(map[*channel]time.Duration)
	for range 20_000 {
		if r.IntN(3) > 0 {
			ch := all[r.IntN(len(all))]
			at := time.Duration(r.IntN(1000))
			ch.schedule(at)
			if old, ok := due[ch]; !ok || at < old {
				due[ch] = at
			}
			continue
		}
		first := Never
		for _, ch := range all {
			if at, ok := due[ch]; ok {
				first = min(first, at)
			}
		}
		if b.timers.earliest() != first {
			t.Fatalf("earliest is %v, not %v", b.timers.earliest(), first)
		}
		if first != Never {
			ch := b.timers.pop()
			if due[ch] != first || ch.due != Never || ch.place != -1 {
				t.Fatalf("popped one for %v, not %v", due[ch], first)
			}
			delete(due, ch)
		}
	}
}

// TestInLane compares the receiving end of a lane, around the wrap of sequence numbers, with a
// set.
func TestInLane(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b, err := NewBundle(Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ch := &channel{peer: &peer{b: b}, place: -1}
	in := &ch.in[requests]
	in.next, in.high = 1<<32-2000, 1<<32-2000
	had := map[uint32]bool{}
	next := in.next
	for i := range 20_000 {
		switch seq := next + uint32(r.IntN(maxWindow)); {
		case r.IntN(200) == 0: // the sender moves on
			next += uint32(r.IntN(100))
			ch.skip(in, next)
		case !had[seq]:
			had[seq] = true
			top := in.high
			if out := ch.had(in, seq); out != (seq != top) {
				t.Fatalf("packet %d, above all others %d: out of order %v", seq, top, out)
			}
		}
		for had[next] {
			next++
		}
		if in.next != next {
			t.Fatalf("next is %d, not %d", in.next, next)
		}
		if i%100 != 0 {
			continue
		}
		n := 0
		for i := range uint32(maxWindow) {
			if had[next+i] {
				n++
			}
			if got := in.beyond > 0 && in.have.has(next+i); got != had[next+i] {
				t.Fatalf("packet %d: had %v", next+i, got)
			}
		}
		if n != int(in.beyond) || in.have != nil && in.have.count() != n || n == 0 && in.have != nil {
			t.Fatalf("%d beyond, not %d", in.beyond, n)
		}
	}
}

// TestRoundTrip feeds samples of a path with jitter.
func TestRoundTrip(t *testing.T) {
	c := Defaults()
	var rt roundTrip
	if rt.timeout(&c, 0) != c.FirstRTO || rt.timeout(&c, 9) != c.MaxRTO {
		t.Errorf("time-outs without a sample: %v, %v", rt.timeout(&c, 0), rt.timeout(&c, 9))
	}
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Duration(0)
	for range 1000 {
		now += time.Millisecond
		kept := time.Duration(r.IntN(1_000_000))
		trip := time.Duration(2_000_000 + r.IntN(400_000))
		rt.sample(now+trip+kept, stampOf(now), echoDelay(kept))
	}
	if rt.smoothed < 2_100*time.Microsecond || rt.smoothed > 2_300*time.Microsecond || rt.variation > 200*time.Microsecond {
		t.Errorf("round trips of 2.0 to 2.4 ms: %+v", rt)
	}
	was := rt
	rt.sample(now, 0, 0)
	rt.sample(now, stampOf(now), tooLong)
	rt.sample(now, stampOf(now+time.Second), 0)
	if rt != was {
		t.Error("samples that are none were used")
	}
	wrapped := roundTrip{}
	late := time.Duration(1<<32-10) * tick
	wrapped.sample(late+20*tick, stampOf(late), 0)
	if wrapped.latest != 20*tick {
		t.Errorf("over the wrap of stamps: %v", wrapped.latest)
	}
}
