package seal

import (
	"testing"

	"pgregory.net/rapid"
)

// The window says the same as a set of all numbers had.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		had, top := map[uint64]bool{}, uint64(0)
		n := rapid.Uint64Range(0, 1<<62).Draw(t, "start")
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			n += uint64(rapid.Int64Range(-1100, 1100).Draw(t, "step"))
			if n > 1<<63 {
				n = 0
			}
			fresh := !had[n] && (n > top || top-n < windowSize)
			if w.fresh(n) != fresh {
				t.Fatalf("%d after %d: %v, want %v", n, top, !fresh, fresh)
			}
			if fresh {
				w.mark(n)
				had[n], top = true, max(top, n)
			}
		}
	})
}
