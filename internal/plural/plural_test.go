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

func TestList(t *testing.T) {
	if s := plural.List([]int{4}, "rank", "ranks"); s != "rank 4" {
		t.Error(s)
	}
	if s := plural.List([]string{"a", "b"}, "host", "hosts"); s != "hosts a, b" {
		t.Error(s)
	}
	if s := plural.List([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "rank", "ranks"); s != "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more" {
		t.Error(s)
	}
}
