package shm

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

func local(t testing.TB, size int) *Region {
	t.Helper()
	r, err := NewRegion(size, Local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func u64(r *Region, off int) *uint64 { return (*uint64)(unsafe.Pointer(&r.Bytes()[off])) }
func u32(r *Region, off int) *uint32 { return (*uint32)(unsafe.Pointer(&r.Bytes()[off])) }

// Each function writes exactly its own bytes.
func TestStoresAndSwaps(t *testing.T) {
	const fill = 0xa5
	r := local(t, 64)
	b := r.Bytes()
	check := func(name string, off, n int, want, got uint64) {
		t.Helper()
		if want != got {
			t.Errorf("%s at %d: loaded %#x, want %#x", name, off, got, want)
		}
		for i, v := range b {
			if (i < off || i >= off+n) && v != fill {
				t.Errorf("%s at %d changed byte %d to %#x", name, off, i, v)
			}
		}
		for i := range b {
			b[i] = fill
		}
	}
	check("fill", 0, 64, 0, 0)
	for off := 16; off < 32; off++ {
		Store8(&b[off], 0x3c)
		if b[off] != 0x3c {
			t.Errorf("Store8 at %d stored %#x", off, b[off])
		}
		check("Store8", off, 1, 0x3c, uint64(Load8(&b[off])))
		if old := Swap8(&b[off], 0xc3); old != fill {
			t.Errorf("Swap8 returned %#x", old)
		}
		check("Swap8", off, 1, 0xc3, uint64(Load8(&b[off])))
	}
	for off := 16; off < 32; off += 4 {
		p := u32(r, off)
		Store32(p, 0x01020304)
		check("Store32", off, 4, 0x01020304, uint64(Load32(p)))
		if old := Swap32(p, 7); old != 0xa5a5a5a5 {
			t.Errorf("Swap32 returned %#x", old)
		}
		check("Swap32", off, 4, 7, uint64(Load32(p)))
	}
	for off := 16; off < 32; off += 8 {
		p := u64(r, off)
		Store64(p, 0x0102030405060708)
		check("Store64", off, 8, 0x0102030405060708, Load64(p))
		Publish64(p, 9)
		check("Publish64", off, 8, 9, Load64(p))
		if old := Swap64(p, 7); old != 0xa5a5a5a5a5a5a5a5 {
			t.Errorf("Swap64 returned %#x", old)
		}
		check("Swap64", off, 8, 7, Load64(p))
	}
}

// Neighbouring bytes have different writers.
func TestBytesAreIndependent(t *testing.T) {
	const rounds = 20000
	b := local(t, 8).Bytes()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range rounds {
				v := uint8(n)
				if i%2 == 0 {
					Store8(&b[i], v)
				} else if old := Swap8(&b[i], v); n > 0 && old != v-1 {
					t.Errorf("byte %d: swapped out %d after storing %d", i, old, v-1)
					return
				}
				if got := Load8(&b[i]); got != v {
					t.Errorf("byte %d: %d after storing %d", i, got, v)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A ring of plain slots, each published by a flag: under the race detector this checks
// that it sees the order which the flags make.
func TestProducerConsumer(t *testing.T) {
	const slots, slotSize, total = 8, 128, 20000
	for name, publish := range map[string]func(flag *uint64, v uint64){
		"Store64":   Store64,
		"Publish64": Publish64,
		"Swap64":    func(flag *uint64, v uint64) { Swap64(flag, v) },
	} {
		t.Run(name, func(t *testing.T) {
			r := local(t, slots*slotSize+64)
			taken := u64(r, slots*slotSize)
			var wg sync.WaitGroup
			wg.Go(func() {
				for n := uint64(1); n <= total; n++ {
					for n > Load64(taken)+slots {
						runtime.Gosched()
					}
					at := int(n%slots) * slotSize
					for i := 8; i < slotSize; i += 8 {
						*u64(r, at+i) = n * uint64(i)
					}
					publish(u64(r, at), n)
				}
			})
			wg.Go(func() {
				for n := uint64(1); n <= total; n++ {
					at := int(n%slots) * slotSize
					for Load64(u64(r, at)) != n {
						runtime.Gosched()
					}
					for i := 8; i < slotSize; i += 8 {
						if got := *u64(r, at+i); got != n*uint64(i) {
							t.Errorf("message %d word %d: %d", n, i/8, got)
							break
						}
					}
					Store64(taken, n)
				}
			})
			wg.Wait()
		})
	}
}

// The published SCI layout: data, then a ready flag per message, then one flag that
// something exists; the receiver clears the last one before it looks at the ready flags.
func TestByteFlags(t *testing.T) {
	const senders, total = 4, 3000
	r := local(t, 4096)
	data := func(s int) *uint64 { return u64(r, 64*s) }
	ready := r.Bytes()[1024 : 1024+senders]
	exists := &r.Bytes()[2048]
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for n := uint64(1); n <= total; n++ {
				for Load8(&ready[s]) != 0 {
					runtime.Gosched()
				}
				*data(s) = n
				Store8(&ready[s], 11)
				Store8(exists, 1)
			}
		})
	}
	var last [senders]uint64
	for got := 0; got < senders*total; {
		if Load8(exists) == 0 {
			runtime.Gosched()
			continue
		}
		Swap8(exists, 0)
		for s := range senders {
			if Load8(&ready[s]) == 11 {
				if n := *data(s); n != last[s]+1 {
					t.Fatalf("sender %d: message %d after %d", s, n, last[s])
				}
				last[s]++
				got++
				Store8(&ready[s], 0)
			}
		}
	}
	wg.Wait()
}

// Dekker's pattern: with a barrier between its store and its load on each side, at least
// one of the two sees the other.
func TestStoreBeforeLoad(t *testing.T) {
	type side func(mine, other *uint32) uint32
	swap := func(mine, other *uint32) uint32 { Swap32(mine, 1); return Load32(other) }
	fence := func(mine, other *uint32) uint32 { Store32(mine, 1); Fence(); return Load32(other) }
	plain := func(mine, other *uint32) uint32 { Store32(mine, 1); return Load32(other) }
	membarrier := func(mine, other *uint32) uint32 {
		Store32(mine, 1)
		if err := Membarrier(); err != nil {
			t.Error(err)
		}
		return Load32(other)
	}
	for _, tc := range []struct {
		name   string
		a, b   side
		rounds int
	}{
		{"swap", swap, swap, 100000},
		{"fence", fence, fence, 100000},
		{"swap and fence", swap, fence, 100000},
		{"plain and membarrier", plain, membarrier, 10000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "plain and membarrier" && !RegisterMembarrier() {
				t.Skip("the kernel has no expedited membarrier")
			}
			var x, y struct {
				v uint32
				_ [60]byte
			}
			var turnA, turnB uint32
			var seenByA, seenByB uint32
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := uint32(1); n <= uint32(tc.rounds); n++ {
					for spins := 1; Load32(&turnB) != n; spins++ {
						giveWay(spins)
					}
					seenByB = tc.b(&y.v, &x.v)
					Store32(&turnA, n)
				}
			}()
			for n := uint32(1); n <= uint32(tc.rounds); n++ {
				Store32(&x.v, 0)
				Store32(&y.v, 0)
				Swap32(&turnB, n)
				seenByA = tc.a(&x.v, &y.v)
				for spins := 1; Load32(&turnA) != n; spins++ {
					giveWay(spins)
				}
				if seenByA == 0 && seenByB == 0 {
					t.Fatalf("round %d: neither saw the other's store", n)
				}
			}
			<-done
		})
	}
}

// giveWay keeps a short spin hot and lets others run in a long one.
func giveWay(spins int) {
	if spins%256 == 0 {
		runtime.Gosched()
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	r := local(t, 64)
	b, p, q := r.Bytes(), u64(r, 8), u32(r, 16)
	n := testing.AllocsPerRun(100, func() {
		Store64(p, Load64(p)+1)
		Store32(q, Load32(q)+1)
		Store8(&b[3], Load8(&b[3])+1)
		Swap64(p, 1)
		Swap32(q, 1)
		Swap8(&b[3], 1)
		Publish64(p, 1)
		Fence()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPublish(b *testing.B) {
	r := local(b, 128)
	p, q := u64(r, 0), &r.Bytes()[64]
	b.Run("Store64", func(b *testing.B) {
		for b.Loop() {
			Store64(p, 1)
		}
	})
	b.Run("Publish64", func(b *testing.B) {
		for b.Loop() {
			Publish64(p, 1)
		}
	})
	b.Run("Swap64", func(b *testing.B) {
		for b.Loop() {
			Swap64(p, 1)
		}
	})
	b.Run("Store64Fence", func(b *testing.B) {
		for b.Loop() {
			Store64(p, 1)
			Fence()
		}
	})
	b.Run("Store8", func(b *testing.B) {
		for b.Loop() {
			Store8(q, 1)
		}
	})
	b.Run("Load8", func(b *testing.B) {
		for b.Loop() {
			Load8(q)
		}
	})
	b.Run("Swap8", func(b *testing.B) {
		for b.Loop() {
			Swap8(q, 1)
		}
	})
}
