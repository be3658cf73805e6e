package sisci

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Whatever a directory says, it is refused or describes memory that is there.
func FuzzReadLayout(f *testing.F) {
	arena := must(NewArena(3, small, shm.Local))
	f.Cleanup(func() { arena.Close() })
	good := bytes.Clone(arena.Bytes()[:headerSize])
	f.Add(good, small.Size(), uint16(3))
	f.Add(good, small.Size()-1, uint16(3))
	f.Add(good, small.Size(), uint16(4))
	f.Add(good[:headerSize-1], small.Size(), uint16(3))
	for _, at := range []int{0, 8, 16, 20, 24, 28} { // each field of the header
		for _, v := range []byte{0x7f, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[at], bad[at+3] = v, v
			f.Add(bad, small.Size(), uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, head []byte, size int, node uint16) {
		b := must(shm.NewRegion(max(headerSize, len(head)), shm.Local)) // aligned as an arena is
		defer b.Close()
		copy(b.Bytes(), head)
		l, err := readLayout(b.Bytes()[:len(head)], size, NodeID(node))
		if err != nil {
			if !errors.Is(err, ErrInconsistentVersions) && !errors.Is(err, ErrIllegalNodeid) && !errors.Is(err, ErrSystem) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if dir := l.directorySize(); dir < headerSize || l.Memory < 0 || l.Size() < dir || l.Size() > size {
			t.Fatalf("%+v in %d bytes", l, size)
		}
		if len(head) <= 1<<20 && l.directorySize() <= len(head) { // the tables lie in the directory
			d := layOut(b.Bytes(), l)
			if len(d.segments) != l.Segments || len(d.connections[0]) != l.Connections || len(d.interrupts) != l.Interrupts {
				t.Fatalf("%+v laid out as %d, %d, %d", l, len(d.segments), len(d.connections[0]), len(d.interrupts))
			}
		}
	})
}

// An arena must be as long as it says, and of a length that cannot change.
func TestShortArena(t *testing.T) {
	own := must(NewArena(0, small, shm.Shared))
	t.Cleanup(func() { own.Close() })
	open := func(fd int) error { return second(Open(Config{Node: 0, Arena: own, Peers: []Peer{{Node: 1, FD: fd}}})) }

	for _, cut := range []int{page, small.Memory} { // of the memory a page, or all
		short := must(shm.NewRegion(small.Size()-cut, shm.Shared))
		t.Cleanup(func() { short.Close() })
		format(short.Bytes(), 1, small)
		is(t, open(short.FD()), ErrSystem)
	}

	fd, err := unix.MemfdCreate("not sealed", unix.MFD_CLOEXEC)
	ok(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	whole := must(NewArena(1, small, shm.Shared))
	t.Cleanup(func() { whole.Close() })
	_, err = unix.Pwrite(fd, whole.Bytes(), 0)
	ok(t, err)
	is(t, open(fd), ErrSystem)

	d, err := Open(Config{Node: 0, Arena: own, Peers: []Peer{{Node: 1, FD: whole.FD()}}})
	ok(t, err) // the arena was not left open by the refusals
	ok(t, d.Close())
}
