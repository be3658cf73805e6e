package shm

import "testing"

// TestShare has memory of an arena seen by who maps the descriptor, and the arena's other memory as it was.
func TestShare(t *testing.T) {
	a, err := NewArena(3 * PageSize)
	if err != nil {
		t.Fatal(err)
	}
	var all [3]*Region
	for i := range all {
		if all[i], err = a.Region(PageSize); err != nil {
			t.Fatal(err)
		}
	}
	all[0].Bytes()[0], all[2].Bytes()[0] = 1, 3
	shared, err := Share(all[1].Bytes())
	if err != nil {
		t.Fatal(err)
	}
	other, err := Map(shared.FD(), 0, PageSize)
	if err != nil {
		t.Fatal(err)
	}
	all[1].Bytes()[7] = 42
	other.Bytes()[8] = 43
	if other.Bytes()[7] != 42 || all[1].Bytes()[8] != 43 {
		t.Error("the memory is not shared")
	}
	if all[0].Bytes()[0] != 1 || all[2].Bytes()[0] != 3 {
		t.Error("other memory has changed")
	}
	for _, r := range append(all[:], shared, other) {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, mem := range [][]byte{nil, make([]byte, PageSize+1)} {
		if _, err := Share(mem); err == nil {
			t.Errorf("%d bytes are shared", len(mem))
		}
	}
}
