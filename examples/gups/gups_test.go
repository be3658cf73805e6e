package main

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// TestStream compares the jump to a number with counting up to it.
func TestStream(t *testing.T) {
	a := uint64(1)
	for n := range uint64(1000) {
		if got := nth(n); got != a {
			t.Fatalf("number %d is %#x, want %#x", n, got, a)
		}
		a = next(a)
	}
	if nth(63) != 1<<63 || next(1<<63) != modulus {
		t.Error("the sequence does not go on from 2⁶³ with the modulus")
	}
}

func TestShare(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		for _, updates := range []int{0, 1, 10, 100} {
			if share(updates, 0, n) != 0 || share(updates, n, n) != updates {
				t.Errorf("%d updates on %d ranks: %d to %d", updates, n, share(updates, 0, n), share(updates, n, n))
			}
			for i := range n {
				if k := share(updates, i+1, n) - share(updates, i, n); k < updates/n || k > updates/n+1 {
					t.Errorf("%d updates on %d ranks: rank %d has %d", updates, n, i, k)
				}
			}
		}
	}
}

// TestLostUpdate has every rank lose an update of its part: the replay finds it.
func TestLostUpdate(t *testing.T) {
	err := aqueduct.Launch(func(job *core.Job) error {
		tab, err := newTable(job, 64)
		if err != nil {
			return err
		}
		if wrong := tab.differences(0); wrong != 0 {
			return fmt.Errorf("%d words differ at first", wrong)
		}
		tab.mine[3] ^= nth(77)
		if wrong := tab.differences(0); wrong != 1 {
			return fmt.Errorf("%d words differ, want 1", wrong)
		}
		return nil
	}, aqueduct.Goroutines(3), aqueduct.Conduit("loopback"))
	if err != nil {
		t.Error(err)
	}
}
