package link_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

const processRing = 4096

// inherit has a role use the ring of descriptor 3, until the process is killed.
func inherit(role func(mem []byte)) {
	r, err := shm.Map(3, 0, shm.RoundUp(link.RingBytes(processRing)))
	if err != nil {
		panic(err)
	}
	role(r.Bytes()[:link.RingBytes(processRing)])
}

// processFrame makes frame i.
func processFrame(b []byte, i int) []byte {
	b = b[:i*37%(processRing/2-8)]
	fill(b, i)
	return b
}

func produce(mem []byte) {
	w := link.Producer(mem)
	frame := make([]byte, processRing)
	for i := 0; ; i++ {
		f := processFrame(frame, i)
		for {
			if b := w.Reserve(len(f)); b != nil {
				copy(b, f)
				w.Commit(len(f))
				break
			}
			yield()
		}
	}
}

func consume(mem []byte) {
	r := link.Consumer(mem)
	for {
		if b, err := r.Next(); err != nil {
			panic(err)
		} else if b == nil {
			yield()
		}
		r.Drop()
	}
}

// startRole runs a role in another process, with a ring that it shares.
func startRole(t *testing.T, role string) (mem []byte, kill func()) {
	t.Helper()
	r, err := shm.NewRegion(shm.RoundUp(link.RingBytes(processRing)), shm.Shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	fd, err := unix.FcntlInt(uintptr(r.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "ring")
	defer file.Close()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = os.Stderr
	c.ExtraFiles = []*os.File{file}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return r.Bytes()[:link.RingBytes(processRing)], func() {
		c.Process.Kill()
		c.Wait()
	}
}

// TestKilledProducer kills a process that writes frames. What it has published are whole frames, in order, and behind them the ring is empty.
func TestKilledProducer(t *testing.T) {
	t.Parallel()
	want := make([]byte, processRing)
	for round := range 4 {
		mem, kill := startRole(t, "produce")
		r := link.Consumer(mem)
		frames := 0
		for alive := true; ; {
			b, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				if !alive {
					break
				}
				yield()
				continue
			}
			if w := processFrame(want, frames); !bytes.Equal(b, w) {
				t.Fatalf("frame %d is %d bytes %x, want %d", frames, len(b), b, len(w))
			}
			r.Drop()
			if frames++; alive && frames == 200*(round+1) {
				kill()
				alive = false
			}
		}
		if !r.Empty() {
			t.Error("a ring without a frame is not empty")
		}
	}
}

// TestKilledConsumer kills a process that takes frames. The ring of whoever sends to it fills up, and nothing else happens.
func TestKilledConsumer(t *testing.T) {
	t.Parallel()
	mem, kill := startRole(t, "consume")
	w := link.Producer(mem)
	for sent := 0; sent < 2000; {
		if b := w.Reserve(100); b != nil {
			w.Commit(100)
			sent++
		} else {
			yield()
		}
	}
	kill()
	for i := 0; w.Reserve(100) != nil; i++ {
		if w.Commit(100); i > processRing/100 {
			t.Fatal("a ring that nobody reads is never full")
		}
	}
	if n := w.Unread(); w.Err() != nil || n > processRing || n < processRing-400 {
		t.Errorf("%d bytes are unread: %v", n, w.Err())
	}
}
