package libmpi

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
)

func init() {
	core.RegisterLauncher(core.Launcher{
		Conduit: "mpi", Name: "mpiexec", Variables: []string{EnvLib},
		Output: "--tag-output or --output-filename DIR of Open MPI, -prepend-pattern '[%r] ' or -outfile-pattern FILE.%r of MPICH",
		Rank:   rankByLauncher, Own: byOwnLauncher, Wanted: beside.Load, Connect: Connect, Starter: Starter,
	})
}

// rankByLauncher reports whether the launcher of an MPI library has started this process as one of
// several, and as which.
func rankByLauncher() (rank string, byLauncher bool) {
	f, n := launched()
	if n <= 1 {
		return "", false
	}
	return os.Getenv(f.rank), true
}

// byOwnLauncher reports whether that was the launcher of an MPI library itself.
func byOwnLauncher() bool {
	f, _ := launched()
	return f != nil && os.Getenv(f.own) != ""
}

// Starter returns what starts n ranks of a job on this host for a profile of the conduit, where "" is Auto: the launcher
// of an MPI library. What segments that ranks share take comes on top of its Room, if there is room. With
// bind, each rank has a CPU of its own as long as there are enough.
func Starter(profile string, n int, bind bool) (*core.Starter, error) {
	profile = cmp.Or(profile, Auto)
	var path string
	f, err := usable(profile, func(f *family) (err error) {
		if err = f.probe(); err == nil {
			path, err = f.mpiexec()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mpi: profile %s: %w", profile, err)
	}
	return &core.Starter{
		Command: append([]string{path}, f.options(n, bind)...), RankVar: f.rank,
		Room:  f.files + int64(n)*f.filesPerRank,
		Env:   []string{EnvLib + "=" + strings.Join(folders(), string(filepath.ListSeparator))}, // a program may lie elsewhere
		Hides: marks,
	}, nil
}

// marks reports whether a variable is one that the launcher of an MPI library sets for the processes
// that it starts. One that is started by such a process must not inherit it, see
// core.Starter; what users set to configure a library it is to have.
func marks(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc(families, func(f *family) bool {
		return slices.ContainsFunc(f.internal, begins) ||
			slices.ContainsFunc(f.marks, begins) && !slices.ContainsFunc(f.settings, begins)
	})
}
