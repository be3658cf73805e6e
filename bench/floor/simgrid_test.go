package floor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/floor"
)

func TestSimGrid(t *testing.T) {
	for _, kind := range []string{"ring", "alltoall"} {
		f, err := floor.StartSimGrid(t.Context(), kind, 5)
		if errors.Is(err, floor.ErrNoSimGrid) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := f.Sample(100)
			if err != nil {
				t.Fatal(err)
			}
			check(t, r, "cm02 constant")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if f, err := floor.StartSimGrid(t.Context(), "star", 5); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("a kind that there is not: %v, error %v", f, err)
	}
}

func TestNoSimGrid(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("CXX", "")
	if f, err := floor.StartSimGrid(t.Context(), "ring", 5); !errors.Is(err, floor.ErrNoSimGrid) {
		t.Errorf("%v, error %v", f, err)
	}
}
