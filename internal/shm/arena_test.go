package shm

import (
	"bytes"
	"testing"
)

// TestArenaOfTerabytes has more regions than a process may have mappings, of more memory than
// any host has.
func TestArenaOfTerabytes(t *testing.T) {
	const regions, size = 1 << 16, 64 << 20
	a, err := NewArena(regions * size)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Region
	for i := range regions {
		r, err := a.Region(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Bytes()) != size || cap(r.Bytes()) != size || r.FD() != -1 {
			t.Fatalf("region %d has %d bytes and descriptor %d", i, len(r.Bytes()), r.FD())
		}
		all = append(all, r)
	}
	if _, err := a.Region(1); err == nil {
		t.Error("a region of what has been taken")
	}
	for i, r := range all {
		if i%1024 == 0 {
			r.Bytes()[0], r.Bytes()[size-1] = byte(i>>10), 0xff
		}
	}
	for i, r := range all {
		if i%1024 == 0 && (r.Bytes()[0] != byte(i>>10) || r.Bytes()[size-1] != 0xff) {
			t.Errorf("region %d has other bytes than were stored", i)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if a.mem != nil {
		t.Error("the last region was closed and the arena is still mapped")
	}
}

func TestArenaRegions(t *testing.T) {
	a, err := NewArena(3*PageSize - 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := a.Region(1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := a.Region(2 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(two.Bytes(), make([]byte, 2*PageSize)) {
		t.Error("new memory is not zero")
	}
	one.Bytes()[0] = 1
	two.Bytes()[0] = 2
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if two.Bytes()[0] != 2 {
		t.Error("a region changed when another was closed")
	}
	if err := two.Populate(); err != nil {
		t.Error(err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if err := two.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestArenaRefuses(t *testing.T) {
	for _, n := range []int{0, -1, 1<<63 - 1} {
		if _, err := NewArena(n); err == nil {
			t.Errorf("an arena of %d bytes", n)
		}
	}
	a, err := NewArena(PageSize)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1, PageSize + 1, 1<<63 - 1} {
		if _, err := a.Region(n); err == nil {
			t.Errorf("a region of %d bytes of a page", n)
		}
	}
	r, err := a.Region(PageSize)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
