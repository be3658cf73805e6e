package extended

import (
	"bytes"
	"testing"
)

// request packs pieces as a get does.
func request(pieces []piece) []byte {
	var b []byte
	var far, near uint64
	for _, p := range pieces {
		var h [gatherHeader]byte
		k := putPieceHeader(h[:], p.far-far, 0) - 1 // the gap alone: a length of 0 is one byte
		k += putPieceHeader(h[k:], p.near-near, p.n)
		b = append(b, h[:k]...)
		far, near = p.far+uint64(p.n), p.near+uint64(p.n)
	}
	return b
}

// TestGatherScatter sends pieces there and back, in any direction.
func TestGatherScatter(t *testing.T) {
	from, to, want := make([]byte, 1000), make([]byte, 1000), make([]byte, 1000)
	for i := range from {
		from[i] = byte(i*7 + 1)
	}
	pieces := []piece{{0, 0, 1}, {999, 998, 1}, {500, 3, 200}, {100, 600, 0}, {1, 1, 1}}
	for _, p := range pieces {
		copy(want[p.near:][:p.n], from[p.far:])
	}
	ask := request(pieces)
	size, err := gather(nil, from, ask)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, size)
	if n, err := gather(data, from, ask); n != size || err != nil {
		t.Fatalf("%d bytes and then %d, %v", size, n, err)
	}
	if err := scatter(to, data); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(to, want) {
		t.Error("the pieces are not where they belong")
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
		err := scatter(mem[32:64], data)
		if !bytes.Equal(mem[:32], before[:32]) || !bytes.Equal(mem[64:], before[64:]) {
			t.Fatalf("bytes outside were written, error %v", err)
		}
	})
}

// FuzzGather checks that a request reads no more than its memory, that both passes agree,
// and that what one side packs the other accepts.
func FuzzGather(f *testing.F) {
	f.Add(request([]piece{{0, 0, 32}}))
	f.Add(request([]piece{{30, 2, 2}, {0, 31, 1}}))
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, ask []byte) {
		from := bytes.Repeat([]byte{1}, 32)
		size, err := gather(nil, from, ask)
		if err != nil {
			return
		}
		out := make([]byte, size)
		if n, err := gather(out, from, ask); n != size || err != nil {
			t.Fatalf("%d bytes, then %d, %v", size, n, err)
		}
		to := make([]byte, 64)
		if err := scatter(to, out); err == nil && len(out) > 0 && bytes.ContainsFunc(to, func(r rune) bool { return r > 1 }) {
			t.Fatal("bytes that were never sent")
		}
	})
}
