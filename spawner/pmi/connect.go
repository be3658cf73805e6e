package pmi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/pmi/libpmix"
	"golang.org/x/sys/unix"
)

// The variables by which a launcher says who a process is.
const (
	envFD   = "PMI_FD"
	envRank = "PMI_RANK"
	envSize = "PMI_SIZE"

	envSpace = "PMIX_NAMESPACE"
	envXRank = "PMIX_RANK"
)

// joined is set when Connect has been called.
var joined atomic.Bool

// Rank reports whether a launcher that speaks PMI or PMIx has started this process as one of several, and as which. One that
// speaks PMIx may have started a single process without saying so.
func Rank() (rank string, launched bool) {
	if n, err := strconv.Atoi(os.Getenv(envSize)); err == nil && n > 1 && (os.Getenv(envFD) != "" || joined.Load()) {
		return os.Getenv(envRank), true
	}
	alone := slices.ContainsFunc(sizes, func(v string) bool { return os.Getenv(v) == "1" })
	return os.Getenv(envXRank), !alone && (byPMIx() || os.Getenv(envXRank) != "" && joined.Load())
}

// sizes are the variables in which launchers that speak PMIx say how many processes they have started, which PMIx itself says only to
// who has connected: those of Open MPI and Slurm.
var sizes = []string{"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}

// byPMIx reports whether a launcher that speaks PMIx, and not PMI, has started this process.
func byPMIx() bool {
	return os.Getenv(envFD) == "" && os.Getenv(envSpace) != "" && os.Getenv(envXRank) != ""
}

// Usable returns nil if Connect has what it takes to speak to the launcher that has started this process, and else what it lacks.
func Usable() error {
	if byPMIx() {
		return libpmix.Usable()
	}
	return nil
}

// Connect joins the job whose launcher has started this process and returns the rank's Bootstrap, which also is a
// core.DescriptorSharer and a core.Exiter. It may be called once. It removes PMI_FD or PMIX_NAMESPACE from the environment, so
// that nothing else, such as a program that a rank starts, takes the connection for its own.
//
// It is collective, and blocks until all ranks have called it.
func Connect() (core.Bootstrap, error) {
	if joined.Swap(true) {
		return nil, errors.New("pmi: this process has joined its job already")
	}
	connect := connectPMI
	if byPMIx() {
		connect = connectPMIx
	}
	st, rank, size, kills, err := connect()
	if err != nil {
		return nil, fmt.Errorf("pmi: %w", err)
	}
	var b *bootstrap
	host, err := shm.HostIdentity()
	if err == nil {
		b, err = join(st, rank, size, host)
	}
	if err != nil {
		st.drop()
		return nil, fmt.Errorf("pmi: rank %d: %w", rank, err)
	}
	b.kills = kills
	return b, nil
}

// connectPMI connects to a launcher that speaks PMI. kills is that of bootstrap.
func connectPMI() (st store, rank, size int, kills bool, err error) {
	number := func(name string, low, high int) (n int) {
		if err == nil {
			if n, err = strconv.Atoi(os.Getenv(name)); err != nil || n < low || n > high {
				err = fmt.Errorf("%s=%q is no number from %d to %d; start the program by a launcher that speaks PMI, such as MPICH's mpiexec or srun --mpi=pmi2",
					name, os.Getenv(name), low, high)
			}
		}
		return n
	}
	size = number(envSize, 1, spawner.MaxRanks)
	rank = number(envRank, 0, size-1)
	fd := number(envFD, 0, 1<<30)
	if err != nil {
		return nil, 0, 0, false, err
	}
	os.Unsetenv(envFD)
	unix.CloseOnExec(fd)
	s, err := open(fd)
	if err != nil {
		return nil, 0, 0, false, fmt.Errorf("rank %d: the launcher's socket, %s=%d: %w", rank, envFD, fd, err)
	}
	hydra := os.Getenv("HYDI_CONTROL_FD") != "" // also in an allocation of Slurm's
	st, err = openKVS(s)
	if err == nil && rank != 0 && hydra { // which gives it a standard input that never ends
		if err = spawner.EndInput(); err != nil {
			err = fmt.Errorf("standard input: %w", err)
		}
	}
	if err != nil {
		s.conn.Close()
		return nil, 0, 0, false, fmt.Errorf("rank %d: %w", rank, err)
	}
	kills = !hydra && os.Getenv("SLURM_STEP_ID") != "" // srun takes the highest status of a rank, which is 137 where it has killed one
	return st, rank, size, kills, nil
}

// connectPMIx is connectPMI for a launcher that speaks PMIx.
func connectPMIx() (st store, rank, size int, kills bool, err error) {
	kills = strings.HasPrefix(os.Getenv(envSpace), "slurm.")
	c, err := libpmix.Open()
	if err != nil {
		return nil, 0, 0, false, fmt.Errorf("rank %s: a launcher that speaks PMIx has started this process, but: %w", os.Getenv(envXRank), err)
	}
	os.Unsetenv(envSpace)
	if c.Size > spawner.MaxRanks {
		return nil, 0, 0, false, fmt.Errorf("rank %d: a job of %d ranks; the most is %d", c.Rank, c.Size, spawner.MaxRanks)
	}
	return &pmix{Client: c}, c.Rank, c.Size, kills, nil
}

// join makes a rank of the job of a launcher, on a host of that identity.
func join(st store, rank, size int, identity string) (*bootstrap, error) {
	b := &bootstrap{rank: rank, size: size, store: st, failed: make(chan struct{}), done: make(chan error, 1)}
	hosts, err := spawner.TellHosts(rank, size, identity, b.tell)
	if err != nil {
		return nil, err
	}
	if b.host, err = spawner.NewNeighbours(rank, size, hosts, b.failed, b.heard); err != nil {
		return nil, err
	}
	if err = b.host.Meet(b.tell); err == nil {
		err = st.fence() // all have met: now a peer may say something to a rank, which passes it on
	}
	if err != nil {
		b.host.Close()
		return nil, err
	}
	b.host.Watch()
	go b.watch()
	return b, nil
}
