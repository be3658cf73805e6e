// Package libmpitest lets tests run jobs over the MPI libraries of this host.
package libmpitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
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

// lack says why the library cannot be used.
func lack(library string) error {
	_, err := libmpi.Starter(library, 1, false)
	return err
}

// Connect is spawner.Connect for coretest.RankMain, and libmpi.Connect where mpiexec alone has started the ranks. In processes
// that run one case after another it has MPI outlive each.
func Connect() (core.Bootstrap, error) {
	if !spawner.Launched() {
		return libmpi.Connect()
	}
	boot, err := spawner.Connect()
	if err != nil || !coretest.TakesOrders() {
		return boot, err
	}
	return &holding{boot, boot.(core.DescriptorSharer), libmpi.Hold()}, nil
}

// holding is the bootstrap of such processes.
type holding struct {
	core.Bootstrap
	core.DescriptorSharer
	release func() error
}

// Close implements core.Bootstrap.
func (h *holding) Close() error { return errors.Join(h.release(), h.Bootstrap.Close()) }

// Exit implements core.Exiter.
func (h *holding) Exit(status int) { core.ExitOf(h.Bootstrap)(status) }

// Launcher launches ranks as processes through a library's own launcher; TestMain must call
// coretest.RankMain with Connect. It skips the test where there is no such library.
func Launcher(t testing.TB, library string) coretest.Launcher {
	t.Helper()
	if err := lack(library); err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	return spawntest.Started(func(n int) (*core.Starter, error) {
		return libmpi.Starter(library, n, false)
	})
}
