package sisci

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// Every way to store reaches its place in the owner's memory, and nothing beside it, and
// allocates nothing.
func TestStores(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		seg, mem := export(t, nw.devs[1], 7, 2*page, nil)
		r, _ := attach(t, nw.devs[0], 1, 7)
		m, err := r.Map(page, page, 0)
		ok(t, err)
		if seg.ID() != 7 || seg.Size() != 2*page || m.Segment() != r || m.Size() != page {
			t.Errorf("segment %#x of %d bytes, map of %d", seg.ID(), seg.Size(), m.Size())
		}
		at := func(off int) *uint64 { return (*uint64)(m.Ptr(off)) }
		for _, tc := range []struct {
			name  string
			off   int
			bytes int
			store func(v uint64)
		}{
			{"Window", 16, 8, func(v uint64) {
				binary.NativeEndian.PutUint64(m.Window(16, 8), v)
				m.Push(16, 8)
			}},
			{"Publish64", 32, 8, func(v uint64) { m.Publish64(at(32), v) }},
			{"PublishFenced64", page - 8, 8, func(v uint64) { m.PublishFenced64(at(page-8), v) }},
			{"Store64", 48, 8, func(v uint64) { m.Store64(48, v) }},
			{"StoreFenced64", 56, 8, func(v uint64) { m.StoreFenced64(56, v) }},
			{"Store32", 68, 4, func(v uint64) { m.Store32(68, uint32(v)) }},
			{"Store8", 81, 1, func(v uint64) { m.Store8(81, uint8(v)) }},
			{"StoreFenced8", 83, 1, func(v uint64) { m.StoreFenced8(83, uint8(v)) }},
		} {
			fill(mem, 0xa5)
			const v = 0x0101010101010101 * 0x3c // the same in every byte order
			if n := testing.AllocsPerRun(10, func() { tc.store(v) }); n != 0 {
				t.Errorf("%s: %v allocations", tc.name, n)
			}
			for i, b := range mem {
				want := byte(0xa5)
				if i >= page+tc.off && i < page+tc.off+tc.bytes {
					want = 0x3c
				}
				if b != want {
					t.Fatalf("%s: byte %d is %#x, want %#x", tc.name, i, b, want)
				}
			}
		}
		if m.Ptr(8) != unsafe.Pointer(&m.Window(8, 1)[0]) {
			t.Error("Ptr and Window disagree")
		}
	})
}
