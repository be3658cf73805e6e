package link_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// memory returns memory of a ring whose data has so many bytes.
func memory(t testing.TB, data int) []byte {
	t.Helper()
	r, err := shm.NewRegion(shm.RoundUp(link.RingBytes(data)), shm.Local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.Bytes()[:link.RingBytes(data)]
}

// fill makes the bytes of the i-th frame.
func fill(b []byte, i int) {
	for k := range b {
		b[k] = byte(i*31 + k)
	}
}

// TestRingQueue has a ring behave as a queue does, with frames of all sizes and orders of calls.
func TestRingQueue(t *testing.T) {
	t.Parallel()
	for _, size := range []int{128, 256, 1024, 8192} {
		rnd := rand.New(rand.NewPCG(uint64(size), 1))
		mem := memory(t, size)
		w, r := link.Producer(mem), link.Consumer(mem)
		var queue [][]byte
		wraps, full := 0, 0
		for i := range 20_000 {
			if rnd.IntN(2) == 0 {
				n := rnd.IntN(w.Most() + 1)
				if rnd.IntN(3) > 0 {
					n = rnd.IntN(24)
				}
				room := w.Room(n)
				b := w.Reserve(n)
				if (b != nil) != room {
					t.Fatalf("ring of %d: Room of %d bytes says %v, and Reserve returns %v", size, n, room, b)
				}
				if b == nil {
					full++
					if len(queue) == 0 {
						t.Fatalf("ring of %d: an empty ring has no room for %d bytes, at most %d", size, n, w.Most())
					}
					if !r.Wanted() {
						t.Fatalf("ring of %d: the consumer does not see that room is wanted", size)
					}
					continue
				}
				if len(b) != n || cap(b) != n {
					t.Fatalf("ring of %d: Reserve of %d bytes has %d", size, n, len(b))
				}
				if r.Wanted() {
					t.Fatalf("ring of %d: room is wanted, and there was some", size)
				}
				n -= rnd.IntN(min(n, 9) + 1)
				fill(b[:n], i)
				w.Commit(n)
				queue = append(queue, bytes.Clone(b[:n]))
				continue
			}
			if r.Empty() != (len(queue) == 0) {
				t.Fatalf("ring of %d: Empty says %v with %d frames", size, r.Empty(), len(queue))
			}
			for range 2 { // it stays the same until Drop
				b, err := r.Next()
				switch {
				case err != nil:
					t.Fatal(err)
				case len(queue) == 0 && b != nil || len(queue) > 0 && (b == nil || !bytes.Equal(b, queue[0])):
					t.Fatalf("ring of %d: the next frame is %x, want the first of %x", size, b, queue)
				}
			}
			if len(queue) > 0 {
				r.Drop()
				queue = queue[1:]
				wraps++
			}
			if (w.Unread() == 0) != (len(queue) == 0) {
				t.Fatalf("ring of %d: %d bytes are unread with %d frames", size, w.Unread(), len(queue))
			}
		}
		if full == 0 || wraps < 1000 {
			t.Errorf("ring of %d: it was full %d times, and took %d frames: the test tests nothing", size, full, wraps)
		}
	}
}

// TestRingConcurrent has two goroutines at the ends of a ring. Under the race detector it checks what is published when.
func TestRingConcurrent(t *testing.T) {
	t.Parallel()
	const frames = 20_000
	mem := memory(t, 1024)
	var done sync.WaitGroup
	done.Go(func() {
		w, rnd := link.Producer(mem), rand.New(rand.NewPCG(1, 2))
		for i := range frames {
			n := 8 + rnd.IntN(w.Most()-7)
			var b []byte
			for b == nil {
				if b = w.Reserve(n); b == nil {
					yield()
				}
			}
			binary.NativeEndian.PutUint64(b, uint64(i))
			fill(b[8:], i)
			w.Commit(n)
		}
	})
	r := link.Consumer(mem)
	want := make([]byte, 1024)
	for i := 0; i < frames; {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			yield()
			continue
		}
		fill(want[:len(b)-8], i)
		if got := binary.NativeEndian.Uint64(b); got != uint64(i) || !bytes.Equal(b[8:], want[:len(b)-8]) {
			t.Fatalf("frame %d comes as number %d: %x", i, got, b)
		}
		r.Drop()
		i++
	}
	done.Wait()
}

// FuzzRing has both ends meet memory that somebody else writes: neither panics, nor reads or writes outside of the ring. It lies between bytes that
// must stay as they are, at the end of what a slice may reach.
func FuzzRing(f *testing.F) {
	f.Add([]byte{1, 5}, []byte{0, 8, 100})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}, []byte{7, 200, 13})
	f.Add(slices.Repeat([]byte{2, 0, 0, 0, 0, 0, 0, 0}, 48), []byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, hostile, steps []byte) {
		const data, guard = 128, 64
		all := memory(t, 1024)[:guard+link.RingBytes(data)+guard]
		for i := range all {
			all[i] = 0xa5
		}
		mem := all[guard : guard+link.RingBytes(data) : guard+link.RingBytes(data)]
		clear(mem)
		w, r := link.Producer(mem), link.Consumer(mem)
		for i, s := range steps {
			if len(hostile) > 0 { // some 8 bytes of the memory become others
				at := int(s) * 8 % len(mem)
				copy(mem[at:], hostile[8*i%len(hostile):min(len(hostile), 8*i%len(hostile)+8)])
			}
			if n := int(s) % (w.Most() + 1); w.Room(n) {
				if b := w.Reserve(n); b != nil {
					fill(b, i)
					w.Commit(n)
				}
			}
			if w.Err() != nil && w.Room(0) {
				t.Fatalf("%v, and there is room", w.Err())
			}
			if b, err := r.Next(); err == nil && len(b) > w.Most() {
				t.Fatalf("a frame of %d bytes in a ring of %d", len(b), data)
			} else if s%3 > 0 {
				r.Drop()
			}
			_, _ = r.Empty(), r.Wanted()
		}
		if bytes.Count(all[:guard], []byte{0xa5}) != guard || bytes.Count(all[len(all)-guard:], []byte{0xa5}) != guard {
			t.Fatal("what is outside of the ring was written")
		}
	})
}

// TestRingMalformed has a ring refuse words that no Writer writes, again and again, and cursors that no Reader does.
func TestRingMalformed(t *testing.T) {
	t.Parallel()
	for what, word := range map[string]uint64{"a skip where the data begins": 2, "a tag": 0x803, "a frame behind the end": 128<<8 | 1, "a long frame": 57<<8 | 1, "an endless one": 1<<63 | 1} {
		mem := memory(t, 128)
		r := link.Consumer(mem)
		binary.NativeEndian.PutUint64(mem[link.RingBytes(128)-128:], word)
		for range 2 {
			if b, err := r.Next(); err == nil || !strings.Contains(err.Error(), "overwritten") || b != nil {
				t.Errorf("%s: %x, %v", what, b, err)
			}
		}
	}
	mem := memory(t, 128)
	w, r := link.Producer(mem), link.Consumer(mem)
	for range 2 {
		w.Reserve(40)
		w.Commit(40)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		r.Drop()
	}
	binary.NativeEndian.PutUint64(mem[len(mem)-128+96:], 25<<8|1)
	if b, err := r.Next(); err == nil {
		t.Errorf("a frame that ends a byte behind the data: %x", b)
	}
	mem = memory(t, 128)
	w = link.Producer(mem)
	w.Reserve(w.Most())
	w.Commit(w.Most())
	for _, taken := range []uint64{8, 72, 1 << 63} {
		binary.NativeEndian.PutUint64(mem, taken)
		w.Unread()
		if bad := taken > 64; (w.Err() != nil) != bad || bad && w.Room(0) {
			t.Errorf("%d bytes of 64 are taken: %v", taken, w.Err())
		}
	}
}

// TestRingRefused has what makes no ring, or no frame, end in a panic.
func TestRingRefused(t *testing.T) {
	t.Parallel()
	mem := memory(t, 256)
	for what, do := range map[string]func(w *link.Writer){
		"data that is no power of two":   func(*link.Writer) { link.RingBytes(192) },
		"data that is too small":         func(*link.Writer) { link.RingBytes(64) },
		"memory of a wrong size":         func(*link.Writer) { link.Producer(mem[:len(mem)-8]) },
		"memory that is not aligned":     func(*link.Writer) { link.Consumer(memory(t, 1024)[4 : 4+len(mem)]) },
		"a frame that is too long":       func(w *link.Writer) { w.Reserve(w.Most() + 1) },
		"a commit of what is not there":  func(w *link.Writer) { w.Reserve(8); w.Commit(9) },
		"a commit of what is committed":  func(w *link.Writer) { w.Reserve(8); w.Commit(8); w.Commit(0) },
		"a commit after a Reserve fails": func(w *link.Writer) { fillUp(w); w.Commit(0) },
	} {
		if panics(func() { do(link.Producer(memory(t, 256))) }) == nil {
			t.Errorf("%s makes no panic", what)
		}
	}
}

// fillUp leaves no room in a ring.
func fillUp(w *link.Writer) {
	for w.Reserve(w.Most()) != nil {
		w.Commit(w.Most())
	}
}

// panics returns what a function panics with.
func panics(do func()) (what any) {
	defer func() { what = recover() }()
	do()
	return nil
}
