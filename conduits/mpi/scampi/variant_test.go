package scampi

import (
	"os"
	"path/filepath"
	"testing"
)

// variant writes a machine file that differs from the library's own machine in some lines, and
// returns its path.
func variant(t testing.TB, lines string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "variant.machine")
	if err := os.WriteFile(name, []byte("base scampi\n"+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Lines of machine files.
const (
	// unreliable has links that lose and refuse one burst in fifty.
	unreliable = "error.lost 10000 ppm assumed for the test\nerror.busy 10000 ppm assumed for the test\n"
	// scarce has the least of everything.
	scarce = `scampi.imports 2 count assumed for the test
scampi.slots 4 count assumed for the test
scampi.slot 576 B assumed for the test
scampi.entries 1 count assumed for the test
scampi.entry 4 KB assumed for the test
scampi.dma 6 KB assumed for the test
`
)
