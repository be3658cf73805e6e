//go:build !race

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/programs"
)

// dir is where the programs are that TestMain builds.
var dir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "aqueduct-mpimix-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := programs.Build(dir, "./examples/mpimix", "./cmd/aqrun"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Either initialises MPI, and aqrun or the library's own mpiexec starts the ranks, over MPI or beside it.
func TestMix(t *testing.T) {
	if out, err := exec.Command("sh", "../../scripts/mpi-shims.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("shims: %v\n%s", err, out)
	}
	// As root, and with more ranks than CPUs, Open MPI wants to be told.
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"} {
		t.Setenv(name, "1")
	}
	for _, library := range []string{"openmpi", "mpich"} {
		for _, args := range [][]string{nil, {"mpi-first"}} {
			for _, launcher := range [][]string{{filepath.Join(dir, "aqrun"), "--mpi", library}, {"mpiexec." + library}, {"env", "AQUEDUCT_CONDUIT=udp", "mpiexec." + library}} {
				command := append(append(launcher, "-n", "3", filepath.Join(dir, "mpimix")), args...)
				t.Run(library+" "+strings.Join(append([]string{filepath.Base(launcher[0])}, args...), " "), func(t *testing.T) {
					if _, err := os.Stat(filepath.Join(dir, "libmpimix-"+library+".so")); err != nil {
						t.Skipf("needs an MPI library: %v", err)
					}
					out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
					const want = "Aqueduct brought a square to each of 3 ranks; MPI sums them to 14\n"
					level := "initialised by this package, provides MPI_THREAD_MULTIPLE\n"
					if args != nil {
						level = "initialised by the program, provides MPI_THREAD_SERIALIZED\n"
					}
					if err != nil || !strings.Contains(string(out), level+want) {
						t.Errorf("%v: %v\n%s", command, err, out)
					}
				})
			}
		}
	}
}

// Without MPI the program says what it needs, and what it does not understand.
func TestMistakes(t *testing.T) {
	for arg, want := range map[string]string{"": "start it with aqrun --mpi", "mpi-first": "start it with aqrun --mpi", "other": usage} {
		cmd := exec.Command(filepath.Join(dir, "mpimix"), strings.Fields(arg)...)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%q: status %d\n%s", arg, status, out)
		}
	}
}
