package vis

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// pack packs pieces into messages of size bytes, by add, which is Put or Ask.
func pack(t *testing.T, pieces []Piece, size int, add func(m *Packing, p Piece) bool) (messages [][]byte) {
	t.Helper()
	var m Packing
	flush := func() {
		if m.Len() > 0 {
			messages = append(messages, m.buf[:m.Len()])
		}
	}
	for _, p := range pieces {
		if add(&m, p) {
			continue
		}
		flush()
		m = NewPacking(make([]byte, size))
		if !add(&m, p) {
			t.Fatalf("an empty message of %d bytes has no room for %d", size, p.N)
		}
	}
	flush()
	return messages
}

// TestMessages sends pieces there and back, in any direction, in messages of any size.
func TestMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 2000 {
		size := LeastMessage + r.IntN(200)
		far, near := make([]byte, 1+r.IntN(2000)), make([]byte, 1+r.IntN(2000))
		for i := range far {
			far[i] = byte(i*7 + 1)
		}
		var pieces []Piece
		got, back := make([]byte, len(near)), make([]byte, len(far))
		wantNear, wantFar := bytes.Clone(got), bytes.Clone(back)
		for off := 0; ; { // destinations are disjoint on both sides
			off += r.IntN(9)
			n := r.IntN(size/2 + 1)
			if off+n > min(len(far), len(near)) {
				break
			}
			p := Piece{uint64(len(far) - off - n), uint64(off), n} // backwards on the far side
			copy(wantNear[p.Near:][:n], far[p.Far:])
			copy(wantFar[p.Far:][:n], far[p.Far:])
			pieces, off = append(pieces, p), off+n
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })

		for _, m := range pack(t, pieces, size, (*Packing).Ask) {
			n, err := Gather(nil, far, m)
			if err != nil || n > size {
				t.Fatalf("an answer of %d bytes to a request of %d, %v", n, len(m), err)
			}
			answer := make([]byte, n)
			if k, err := Gather(answer, far, m); k != n || err != nil {
				t.Fatalf("%d bytes and then %d, %v", n, k, err)
			}
			if err := Scatter(got, answer); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, wantNear) {
			t.Fatalf("%v: gathered % x, want % x", pieces, got, wantNear)
		}
		for _, m := range pack(t, pieces, size, func(m *Packing, p Piece) bool { return m.Put(p, got) }) {
			if err := Scatter(back, m); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(back, wantFar) {
			t.Fatalf("%v: scattered % x, want % x", pieces, back, wantFar)
		}
	}
}

// request packs the request for pieces.
func request(pieces ...Piece) []byte {
	m := NewPacking(make([]byte, 1<<10))
	for _, p := range pieces {
		m.Ask(p)
	}
	return m.buf[:m.Len()]
}

// TestMalformed has payloads that no peer sends.
func TestMalformed(t *testing.T) {
	mem := make([]byte, 32)
	for _, data := range [][]byte{{0}, {0x80}, {0, 0x80}, {0, 2, 'x'}, {0, 33}, {66, 0}, {1, 1, 'x'}, {64, 1, 'x'}} {
		if Scatter(mem, data) == nil {
			t.Errorf("% x was scattered", data)
		}
	}
	for _, ask := range [][]byte{{}, {0}, {0x80}, {0, 0}, {0, 0, 0x80}, {0, 0, 33}, {66, 0, 0}, {1, 0, 1}, {64, 0, 1}, request(Piece{0, 0, 32}, Piece{32, 32, 1})} {
		if _, err := Gather(nil, mem, ask); err == nil {
			t.Errorf("% x was gathered", ask)
		}
	}
}

// FuzzScatter checks that no payload writes outside its memory.
func FuzzScatter(f *testing.F) {
	f.Add([]byte{0, 1, 'x'})
	f.Add([]byte{20, 2, 'a', 'b', 9, 1, 'c'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0xff, 0xff, 0x03})
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := make([]byte, 96)
		before := bytes.Clone(mem)
		err := Scatter(mem[32:64], data)
		if !bytes.Equal(mem[:32], before[:32]) || !bytes.Equal(mem[64:], before[64:]) {
			t.Fatalf("bytes outside were written, error %v", err)
		}
	})
}

// FuzzGather checks that a request reads no more than its memory, that both passes agree,
// and that what one side packs the other accepts.
func FuzzGather(f *testing.F) {
	f.Add(request(Piece{0, 0, 32}))
	f.Add(request(Piece{30, 2, 2}, Piece{0, 31, 1}))
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, ask []byte) {
		from := bytes.Repeat([]byte{1}, 32)
		size, err := Gather(nil, from, ask)
		if err != nil {
			return
		}
		out := make([]byte, size)
		if n, err := Gather(out, from, ask); n != size || err != nil {
			t.Fatalf("%d bytes, then %d, %v", size, n, err)
		}
		to := make([]byte, 64)
		if err := Scatter(to, out); err == nil && bytes.ContainsFunc(to, func(r rune) bool { return r > 1 }) {
			t.Fatal("bytes that were never sent")
		}
	})
}
