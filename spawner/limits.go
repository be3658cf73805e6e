package spawner

import (
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/internal/plural"
	"golang.org/x/sys/unix"
)

// MaxRanks is the largest job that can be started.
const MaxRanks = 65536

// The launcher's descriptors: per rank two pipes, a connection, two output files and one
// descriptor held during ShareFD; besides, the pending connections of strangers and what
// the program around it has open.
const (
	fdsPerRank = 6
	fdsSpare   = pendingMax + 64
)

// checkCount refuses a number of ranks that is absurd or that this process may not start.
func checkCount(ranks, processes int) error {
	if ranks < 1 || ranks > MaxRanks {
		return fmt.Errorf("%d ranks: a job has 1 to %d", ranks, MaxRanks)
	}
	var files, procs unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if need := uint64(processes*fdsPerRank + fdsSpare); need > files.Cur {
		return fmt.Errorf("starting %s needs %d open files, but the limit is %d; raise it with `ulimit -n %[2]d`, as root where that is refused%[4]s",
			plural.Count(processes, "process", "processes"), need, files.Cur, orFewer(processes))
	}
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &procs); err != nil {
		return fmt.Errorf("reading the limit of processes: %w", err)
	}
	if uint64(processes) > procs.Cur && os.Geteuid() != 0 { // root is exempt
		return fmt.Errorf("starting %s, but the limit of processes is %d; raise it with `ulimit -u`%s",
			plural.Count(processes, "process", "processes"), procs.Cur, orFewer(processes))
	}
	return nil
}

// orFewer is the advice to start fewer ranks, where that helps.
func orFewer(processes int) string {
	if processes == 1 {
		return ""
	}
	return ", or start fewer ranks"
}

// allowedCPUs returns the numbers of the CPUs that this process may use, ascending.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("reading the allowed CPUs: %w", err)
	}
	var cpus []int
	for i := 0; len(cpus) < set.Count(); i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}
