//go:build !race

package clients_test

import "testing"

// Programs as people write them, and a small runtime over the interface.

func TestHeat(t *testing.T) {
	everywhere(t, "heat", "is right", 1, 3, 4)
}

func TestTable(t *testing.T) {
	everywhere(t, "table", "is right", 1, 3, 4)
}

// TestSHMEM runs programs over a part of OpenSHMEM that is written for the interface.
func TestSHMEM(t *testing.T) {
	everywhere(t, "shmem", "is right", 1, 2, 4)
}

// TestRuntime runs what a language's runtime does with the library.
func TestRuntime(t *testing.T) { everywhere(t, "runtime", "all are right", 1, 2, 4) }
