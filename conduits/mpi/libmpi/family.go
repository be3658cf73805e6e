package libmpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// family is an implementation of MPI: what differs between them outside the shim.
type family struct {
	name  string // as profiles and shims are called
	title string
	size  string // variable in which its launcher says how many processes there are
	rank  string // and which of them this is
	own   string // variable that its launcher sets, and no other
	link  string // and which descriptor leads to it; "": it is found another way
	// marks begin the names of all variables that its launcher sets for the processes it starts, but
	// also those of settings, by which users configure the library; of these only internal ones are
	// the launcher's.
	marks, settings, internal []string
	// eager is the message size up to which it sends without asking, over shared memory and over TCP,
	// less a little for its own headers. Open MPI's least is 4096 bytes, over shared memory; that of
	// MPICH's UCX is 8192, over TCP.
	eager int
	// exact is mpi.TransportLimits.Exact: MPICH's UCX searches receives from any source one by
	// one, and finds others by a table.
	exact bool
	// version is what its mpiexec says with --version.
	version string
	// files is how many bytes of "{dir}", see core.Starter, a job takes, and each of its ranks more.
	files, filesPerRank int64
	// windows is the variable that tells a rank where memory that ranks share is kept; "": in /dev/shm.
	windows string
	// options start n processes on this host, also more than it has CPUs.
	// if bind is set with a CPU for each.
	options func(n int, bind bool) []string
}

var families = []*family{
	{
		name: "openmpi", title: "Open MPI", version: "open-mpi.org", eager: 4096 - 64,
		size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK", own: "OMPI_COMM_WORLD_SIZE",
		marks:    []string{"OMPI_", "ORTE_", "PMIX_"},
		settings: []string{"OMPI_MCA_", "OMPI_ALLOW_", "PMIX_MCA_"},
		internal: []string{ // with these an mpiexec takes the outer one for part of itself
			"OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_orte_app_num", "OMPI_MCA_orte_ess_", "OMPI_MCA_orte_hnp_uri",
			"OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_launch", "OMPI_MCA_orte_local_daemon_uri", "OMPI_MCA_orte_num_nodes",
			"OMPI_MCA_orte_precondition_transports", "OMPI_MCA_orte_top_session_dir", "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
		},
		files: 12 << 20, filesPerRank: 4<<20 + 256<<10, // what PMIx keeps, and btl_vader_segment_size and some
		windows: "OMPI_MCA_osc_sm_backing_directory",
		options: func(n int, bind bool) []string {
			o := []string{
				"--quiet",                  // aqrun says how a job has ended
				"--mca", "plm", "isolated", // on this host only, which needs no ssh
				"--oversubscribe",
				"--mca", "mpi_yield_when_idle", crowded(n),
				"--mca", "odls_base_sigkill_timeout", "0", // else it sleeps that many seconds twice when a rank has failed
				"--mca", "shmem", "mmap", // the others are only tried, with names outside its directory
			}
			for _, place := range []string{"orte_tmpdir_base", "btl_vader_backing_directory", "osc_rdma_backing_directory", "osc_sm_backing_directory"} {
				o = append(o, "--mca", place, "{dir}") // else a job that is killed leaves files
			}
			if bind {
				o = append(o, "--map-by", "core", "--bind-to", "core:overload-allowed")
			} else {
				o = append(o, "--bind-to", "none")
			}
			if os.Geteuid() == 0 {
				o = append(o, "--allow-run-as-root")
			}
			return append(o, "-n", strconv.Itoa(n))
		},
	},
	{
		name: "mpich", title: "MPICH", version: "HYDRA", eager: 8192 - 128, exact: true,
		size: "PMI_SIZE", rank: "PMI_RANK", own: "MPI_LOCALNRANKS", link: "PMI_FD",
		marks: []string{"PMI_", "HYDI_", "MPI_LOCAL"},
		options: func(n int, bind bool) []string {
			o := []string{"-launcher", "fork", "-hosts", "localhost"}
			if bind {
				o = append(o, "-bind-to", "core")
			}
			return append(o, "-n", strconv.Itoa(n))
		},
	},
}

// crowded returns 1 if n processes outnumber the CPUs. Open MPI takes --oversubscribe to mean that
// they do, and then gives the CPU away in every call that finds nothing. A wait of ours does so itself
// when it is time; those of MPI, as at its initialisation, do not.
func crowded(n int) string {
	if n > runtime.NumCPU() {
		return "1"
	}
	return "0"
}

// familyOf returns the family of a profile's name.
func familyOf(name string) *family {
	for _, f := range families {
		if f.name == name {
			return f
		}
	}
	return nil
}

// launched returns the family whose launcher has started this process, and as one of how many;
// nil if none has. Where one launcher has started the other, as a single process, that one counts
// which has started several.
func launched() (by *family, of int) {
	for _, f := range families {
		if n, err := strconv.Atoi(os.Getenv(f.size)); err == nil && n > of {
			by, of = f, n
		}
	}
	return by, of
}

// Auto is the profile that stands for the library of the launcher, or where there is none for the
// first that is usable.
const Auto = "auto"

// resolve returns the family that a profile stands for here, or why it cannot be used.
func resolve(profile string) (*family, error) { return usable(profile, (*family).probe) }

// usable returns the family that a profile stands for here, which passes the test, or why there is
// none.
func usable(profile string, test func(*family) error) (*family, error) {
	candidates := families
	if profile != Auto {
		candidates = []*family{familyOf(profile)}
	} else if f, _ := launched(); f != nil {
		candidates = []*family{f}
	}
	var why []string
	for _, f := range candidates {
		err := test(f)
		if err == nil {
			return f, nil
		}
		if !slices.Contains(why, err.Error()) {
			why = append(why, err.Error())
		}
	}
	return nil, errors.New(strings.Join(why, "; "))
}

// EnvLib names the variable with further folders in which shims are looked for.
const EnvLib = "AQUEDUCT_LIBDIR"

// folders returns where shims are looked for: beside the program, where make install puts them, and what EnvLib names.
func folders() (dirs []string) {
	if exe, err := os.Executable(); err == nil {
		at := filepath.Dir(exe)
		dirs = append(dirs, at, filepath.Join(at, "..", "lib", "aqueduct"), filepath.Join(at, "..", "lib"))
	}
	for _, d := range filepath.SplitList(os.Getenv(EnvLib)) {
		// A name without a slash would be looked for where the system keeps its libraries.
		if abs, err := filepath.Abs(d); err == nil && d != "" {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// shim returns the path of the family's shim, or an error that says where it was looked for.
func (f *family) shim() (string, error) {
	dirs := folders()
	name := "libaqueduct-mpi-" + f.name + ".so"
	for _, d := range dirs {
		path := filepath.Join(d, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s in %s; set %s to its folder; make builds it in bin/ where %s is installed with its compiler (mpicc)",
		name, strings.Join(dirs, ", "), EnvLib, f.title)
}

// memory returns where the library keeps memory that ranks share.
func (f *family) memory() string {
	if dir := os.Getenv(f.windows); f.windows != "" && dir != "" {
		return dir
	}
	return "/dev/shm"
}

// mpiexec returns the path of the family's launcher. Debian installs each under a name of its own;
// elsewhere there is one mpiexec, and what it says tells whose it is.
func (f *family) mpiexec() (string, error) {
	own := "mpiexec." + f.name
	if path, err := exec.LookPath(own); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("mpiexec")
	if err != nil {
		return "", fmt.Errorf("neither %s nor mpiexec is in PATH", own)
	}
	says, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	if !strings.Contains(string(says), f.version) {
		return "", fmt.Errorf("%s is not in PATH, and %s is not %s's", own, path, f.title)
	}
	return path, nil
}
