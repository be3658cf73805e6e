package grim_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
)

// FuzzNames has requests to the server either refused, or answered by a list that is well formed and has numbers of its own for all names.
func FuzzNames(f *testing.F) {
	f.Add([]byte{0, 1, 'a', 0, 2, 'b', 'c', 0, 1, 'a'})
	f.Add([]byte{0, 0})
	f.Add([]byte{0, 16, 0, 1, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, ok := grim.TakeRequest(b)
		if !ok && len(list) > 0 {
			t.Errorf("% x is malformed, and some of its names have numbers: % x", b, list)
		}
		ids, ok := grim.TakeList(list)
		used := map[grim.HandlerID]string{}
		for name, id := range ids {
			if used[id] != "" || id < 16 {
				t.Errorf("%q and %q have number %d", name, used[id], id)
			}
			used[id] = name
		}
		if !ok {
			t.Errorf("% x makes a list that is malformed: % x", b, list)
		}
		grim.TakeList(b)
	})
}
