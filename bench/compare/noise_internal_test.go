package compare

import (
	"testing"
	"time"
)

// TestParseUsage reads a first line of /proc/stat, and what is none.
func TestParseUsage(t *testing.T) {
	got := parseUsage("cpu  100 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 0\n")
	if want := (usage{busy: 1630 * time.Millisecond, stolen: 800 * time.Millisecond}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseUsage(bad); got != (usage{}) {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
