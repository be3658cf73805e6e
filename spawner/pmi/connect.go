package pmi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
// It is collective, and blocks until all ranks have called it, for as long as spawner.EnvStartTimeout says at most: then the error is a
// *core.ExitError that names those who have not, as far as this host can see.
func Connect() (core.Bootstrap, error) {
	if joined.Swap(true) {
		return nil, errors.New("pmi: this process has joined its job already")
	}
	limit, err := spawner.StartTimeout()
	if err != nil {
		return nil, fmt.Errorf("pmi: %w", err)
	}
	connect := connectPMI
	if byPMIx() {
		connect = connectPMIx
	}
	m, err := connect()
	if err != nil {
		return nil, fmt.Errorf("pmi: %w", err)
	}
	var b *bootstrap
	host, err := shm.HostIdentity()
	if err == nil {
		b, err = m.joinWithin(limit, host)
	}
	if err != nil {
		m.drop()
		return nil, fmt.Errorf("pmi: rank %d: %w", m.rank, err)
	}
	return b, nil
}

// membership is what a process knows of its job by its launcher.
type membership struct {
	store
	job        string // its name, which no other of the host has
	rank, size int
	kills      bool // as bootstrap has it
}

// connectPMI connects to a launcher that speaks PMI.
func connectPMI() (m *membership, err error) {
	number := func(name string, low, high int) (n int) {
		if err == nil {
			if n, err = strconv.Atoi(os.Getenv(name)); err != nil || n < low || n > high {
				err = fmt.Errorf("%s=%q is no number from %d to %d; start the program by a launcher that speaks PMI, such as MPICH's mpiexec or srun --mpi=pmi2",
					name, os.Getenv(name), low, high)
			}
		}
		return n
	}
	size := number(envSize, 1, spawner.MaxRanks)
	rank := number(envRank, 0, size-1)
	fd := number(envFD, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	os.Unsetenv(envFD)
	unix.CloseOnExec(fd)
	s, err := open(fd)
	if err != nil {
		return nil, fmt.Errorf("rank %d: the launcher's socket, %s=%d: %w", rank, envFD, fd, err)
	}
	hydra := os.Getenv("HYDI_CONTROL_FD") != "" // also in an allocation of Slurm's
	st, err := openKVS(s)
	if err == nil && rank != 0 && hydra { // which gives it a standard input that never ends
		if err = spawner.EndInput(); err != nil {
			err = fmt.Errorf("standard input: %w", err)
		}
	}
	if err != nil {
		s.conn.Close()
		return nil, fmt.Errorf("rank %d: %w", rank, err)
	}
	kills := !hydra && os.Getenv("SLURM_STEP_ID") != "" // srun takes the highest status of a rank, which is 137 where it has killed one
	return &membership{st, st.name, rank, size, kills}, nil
}

// connectPMIx is connectPMI for a launcher that speaks PMIx.
func connectPMIx() (*membership, error) {
	space := os.Getenv(envSpace)
	c, err := libpmix.Open()
	if err != nil {
		return nil, fmt.Errorf("rank %s: a launcher that speaks PMIx has started this process, but: %w", os.Getenv(envXRank), err)
	}
	os.Unsetenv(envSpace)
	if c.Size > spawner.MaxRanks {
		return nil, fmt.Errorf("rank %d: a job of %d ranks; the most is %d", c.Rank, c.Size, spawner.MaxRanks)
	}
	return &membership{&pmix{Client: c}, space, c.Rank, c.Size, strings.HasPrefix(space, "slurm.")}, nil
}

// remindTime is how long the others may take to come before a rank says who has not.
const remindTime = 10 * time.Second

// statusNoStart is that of a job that does not start, as of spawner's.
const statusNoStart = 125

// joinWithin is join for a limited time. Who has not come by then is named.
func (m *membership) joinWithin(limit time.Duration, identity string) (*bootstrap, error) {
	here := show(m.job, m.rank, m.size)
	defer here.hide()
	var b *bootstrap
	joined := make(chan error, 1)
	go func() {
		var err error
		b, err = m.join(identity)
		joined <- err
	}()
	remind, late := time.NewTimer(min(remindTime, limit/2)), time.NewTimer(limit)
	defer remind.Stop()
	defer late.Stop()
	for {
		select {
		case err := <-joined:
			return b, err
		case <-remind.C:
			absent := here.absent()
			if m.rank == 0 || m.rank == 1 && !here.seen[0] { // one or two say it
				fmt.Fprintf(os.Stderr, "aqueduct: rank %d waits for all %d ranks to join, for %v at most (%s); %s\n",
					m.rank, m.size, limit, spawner.EnvStartTimeout, absent)
			}
		case <-late.C:
			return nil, &core.ExitError{Status: statusNoStart, Reason: fmt.Sprintf("not all %d ranks have joined the job within %v (%s); %s",
				m.size, limit, spawner.EnvStartTimeout, here.absent())}
		}
	}
}

// join makes a rank of the job, on a host of that identity.
func (m *membership) join(identity string) (*bootstrap, error) {
	b := &bootstrap{rank: m.rank, size: m.size, store: m.store, kills: m.kills, failed: make(chan struct{}), done: make(chan error, 1)}
	hosts, err := spawner.TellHosts(m.rank, m.size, identity, b.tell)
	if err != nil {
		return nil, err
	}
	if b.host, err = spawner.NewNeighbours(m.rank, m.size, hosts, b.failed, b.heard); err != nil {
		return nil, err
	}
	if err = b.host.Meet(b.tell); err == nil {
		err = b.store.fence() // all have met: now a peer may say something to a rank, which passes it on
	}
	if err != nil {
		b.host.Close()
		return nil, err
	}
	b.host.Watch()
	go b.watch()
	return b, nil
}
