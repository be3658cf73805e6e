// Package libmpitest lets tests run jobs over the MPI libraries of this host.
package libmpitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// Libraries are the profiles that stand for a library each.
var Libraries = []string{"openmpi", "mpich"}

// Main runs the tests with shims that are compiled for them, for a TestMain, and returns the exit
// status. What keeps the shims from being compiled is printed; the tests then have no library.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqueduct-shims-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	_, here, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(here), "../../../../scripts/mpi-shims.sh")
	if out, err := exec.Command("sh", script, dir).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", script, err, out)
	}
	os.Setenv(libmpi.EnvLib, dir)
	return m.Run()
}

// Launcher launches ranks as processes through a library's own launcher; TestMain must call
// coretest.RankMain with spawner.Connect. It skips the test where there is no such library.
func Launcher(t testing.TB, library string) coretest.Launcher {
	t.Helper()
	if _, _, err := libmpi.Launcher(library, 1, false); err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	return spawntest.Started(func(n int) (argv []string, rankVar string, err error) {
		return libmpi.Launcher(library, n, false)
	})
}
