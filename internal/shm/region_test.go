package shm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func dupFD(t *testing.T, fd int) int {
	t.Helper()
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return dup
}

func TestRegions(t *testing.T) {
	for _, kind := range []Kind{Shared, Local} {
		for _, size := range []int{1, PageSize - 1, PageSize, 3*PageSize + 8} {
			r, err := NewRegion(size, kind)
			if err != nil {
				t.Fatal(err)
			}
			b := r.Bytes()
			if len(b) != size || cap(b) != size || uintptr(unsafe.Pointer(&b[0]))%uintptr(PageSize) != 0 {
				t.Errorf("kind %d, size %d: %d bytes (capacity %d) at %p", kind, size, len(b), cap(b), &b[0])
			}
			if len(bytes.Trim(b, "\x00")) != 0 {
				t.Errorf("kind %d, size %d: not zeroed", kind, size)
			}
			if (r.FD() >= 0) != (kind == Shared) {
				t.Errorf("kind %d: descriptor %d", kind, r.FD())
			}
			b[0], b[size-1] = 1, 2
			if err := r.Populate(); err != nil {
				t.Error(err)
			}
			if size > 1 && b[0] != 1 || b[size-1] != 2 {
				t.Errorf("Populate changed the memory")
			}
			touch(b)
			if size > 1 && b[0] != 1 || b[size-1] != 2 {
				t.Errorf("touch changed the memory")
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if r.Bytes() != nil || r.FD() != -1 {
				t.Error("a closed region still has memory")
			}
			if err := r.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		}
	}
	for _, size := range []int{0, -1, math.MaxInt} {
		for _, kind := range []Kind{Shared, Local} {
			if _, err := NewRegion(size, kind); err == nil {
				t.Errorf("made a region of %d bytes", size)
			}
		}
	}
}

func TestMap(t *testing.T) {
	r, err := NewRegion(4*PageSize, Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dup := dupFD(t, r.FD())
	m, err := Map(dup, int64(PageSize), PageSize+100)
	if err != nil {
		t.Fatal(err)
	}
	ro, err := MapReadOnly(dup, int64(PageSize), PageSize)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(dup) // the mappings stay
	if m.FD() != -1 {
		t.Errorf("a mapping has descriptor %d", m.FD())
	}
	m.Bytes()[PageSize+99] = 7
	m.Bytes()[0] = 8
	if r.Bytes()[2*PageSize+99] != 7 || ro.Bytes()[0] != 8 || len(m.Bytes()) != PageSize+100 {
		t.Error("the mapping shows other memory")
	}
	if err := errors.Join(m.Close(), ro.Close()); err != nil {
		t.Error(err)
	}

	for _, tc := range []struct {
		fd, off, size int
		want          string
	}{
		{r.FD(), 1, PageSize, "multiple of the page size"},
		{r.FD(), -PageSize, PageSize, "multiple of the page size"},
		{r.FD(), 0, 0, "only"},
		{r.FD(), 0, -1, "only"},
		{r.FD(), 0, 4*PageSize + 1, "only"},
		{r.FD(), PageSize, 3*PageSize + 1, "only"},
		{r.FD(), 5 * PageSize, 1, "only"},
		{r.FD(), 0, math.MaxInt, "only"},
		{-1, 0, PageSize, "bad file descriptor"},
	} {
		if _, err := Map(tc.fd, int64(tc.off), tc.size); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Map(%d, %d, %d): %v; want %q", tc.fd, tc.off, tc.size, err, tc.want)
		}
	}
}

func TestMapRefusesWhatCanShrink(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	open, err := unix.MemfdCreate("test", unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(open)
	for _, fd := range []int{int(f.Fd()), open} {
		if err := unix.Ftruncate(fd, int64(PageSize)); err != nil {
			t.Fatal(err)
		}
		if _, err := Map(fd, 0, PageSize); err == nil || !strings.Contains(err.Error(), "not sealed") {
			t.Errorf("Map of a descriptor that can shrink: %v", err)
		}
	}
}

func init() {
	// truncator tries to take the memory away from under the other process.
	roles["truncator"] = func() error {
		const fd = 3
		for _, size := range []int64{0, int64(PageSize), 1 << 30} {
			if err := unix.Ftruncate(fd, size); err != unix.EPERM {
				return fmt.Errorf("truncate to %d bytes: %v, want EPERM", size, err)
			}
		}
		if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(PageSize)); err != nil {
			return fmt.Errorf("punch a hole: %w", err) // allowed: reads as zeroes, no SIGBUS
		}
		m, err := Map(fd, 0, 2*PageSize)
		if err != nil {
			return err
		}
		m.Bytes()[PageSize] = 42
		return m.Close()
	}
}

// Another process that holds the descriptor cannot make an access here a SIGBUS.
func TestSealedSize(t *testing.T) {
	r, err := NewRegion(2*PageSize, Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range r.Bytes() {
		r.Bytes()[i] = 1
	}
	start(t, "truncator", r.FD())()
	if b := r.Bytes(); b[0] != 0 || b[PageSize] != 42 || b[2*PageSize-1] != 1 {
		t.Errorf("after the other process: %d, %d, %d", b[0], b[PageSize], b[2*PageSize-1])
	}
}
