package sisci

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Stores to a Sparse segment and loads from it are those to memory in one piece, wherever they
// lie in its blocks; and only blocks that they touch have memory.
func TestSparseSegment(t *testing.T) {
	const size, touched = 20*BlockSize + 12, 15 * BlockSize
	oracle := make([]byte, size)
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		random := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			n := 1 + random.IntN(3*BlockSize)
			off := random.IntN(touched - n)
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			ok(t, m.MemCpy(nil, b, off, 0))
			copy(oracle[off:], b)
		}
		m.Store32(size-4, 0x04030201)
		copy(oracle[size-4:], []byte{1, 2, 3, 4})
		p.Charge(vtime.Second) // all has arrived
		for range 50 {
			n := 1 + random.IntN(3*BlockSize)
			off := random.IntN(touched - n)
			b := make([]byte, n)
			ok(t, m.MemCpy(nil, b, off, BlockRead))
			if !bytes.Equal(b, oracle[off:off+n]) {
				t.Errorf("%d bytes at %d are others than were stored", n, off)
			}
		}
	}, func(p *vtime.Proc, d *Device) {
		s := must(d.CreateSegment(7, size, Sparse, nil))
		ok(t, s.Prepare(0))
		ok(t, s.SetAvailable())
		p.Charge(3 * vtime.Second)
		p.Sync() // the other has ended
		for i := range s.blocks {
			if has := s.blocks[i] != nil; has != (i < touched/BlockSize || i == len(s.blocks)-1) {
				t.Errorf("block %d has memory: %v", i, has)
			}
		}
		for off := 0; off < size; off += BlockSize {
			n := min(BlockSize, size-off)
			if !bytes.Equal(s.Block(off, n), oracle[off:off+n]) {
				t.Errorf("the block at %d has other bytes than were stored", off)
			}
		}
	})
}

// What cannot be done with a Sparse segment.
func TestSparseErrors(t *testing.T) {
	live := newNetwork(t, 1, small, together, nil).devs[0]
	is(t, second(live.CreateSegment(7, page, Sparse, nil)), ErrIllegalFlag)
	w := newPair(t, nil)
	w.run(func(_ *vtime.Proc, d *Device) {
		is(t, second(d.CreateSegment(7, page, Sparse|Private, nil)), ErrIllegalFlag)
		is(t, second(d.CreateSegment(7, page, Sparse|Empty, nil)), ErrIllegalFlag)
		s := must(d.CreateSegment(7, page, Sparse, nil))
		ok(t, s.Prepare(0))
		ok(t, s.SetAvailable())
		is(t, second(s.Map(0, page, 0)), ErrIllegalOperation)
		other, _ := export(t, d, 8, page, nil)
		r, q := must(d.Connect(0, 7, 0, nil)), must(d.CreateDMAQueue(1))
		is(t, q.Enqueue(other, 0, r, 0, 8, 0), ErrIllegalOperation)
		is(t, q.Enqueue(s, 0, must(d.Connect(0, 8, 0, nil)), 0, 8, 0), ErrIllegalOperation)
		ok(t, q.Remove())
		ok(t, r.Disconnect())
		ok(t, s.SetUnavailable(0))
		ok(t, s.Remove())
	})
}

// The memory of segments is taken as it is touched: those of a large network together may be
// more than any host has, and the garbage collector does not see them.
func TestSegmentsOfTerabytes(t *testing.T) {
	const n, each = 1 << 16, 64 << 20
	h := new(heap)
	defer h.free()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		b, err := h.take(each - 1)
		ok(t, err)
		if len(b) != each {
			t.Fatalf("segment %d has %d bytes", i, len(b))
		}
		if i%1000 == 0 {
			b[0], b[each-1] = 1, 1
		}
		if i == n-1 {
			h.give(b)
			if again := must(h.take(each)); &again[0] != &b[0] {
				t.Error("memory that was given back is not taken again")
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d bytes of heap for segments that lie elsewhere", grown)
	}
}
