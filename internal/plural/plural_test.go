package plural_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/plural"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 ranks", 1: "1 rank", 2: "2 ranks"} {
		if s := plural.Count(n, "rank", "ranks"); s != want {
			t.Errorf("%d: %q, want %q", n, s, want)
		}
	}
}
