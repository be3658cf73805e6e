package pmi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// The variables by which a launcher says who a process is.
const (
	envFD   = "PMI_FD"
	envRank = "PMI_RANK"
	envSize = "PMI_SIZE"
)

// joined is set when Connect has been called.
var joined atomic.Bool

// Rank reports whether a launcher that speaks PMI has started this process as one of several, and as which.
func Rank() (rank string, launched bool) {
	n, err := strconv.Atoi(os.Getenv(envSize))
	if err != nil || n < 2 || os.Getenv(envFD) == "" && !joined.Load() {
		return "", false
	}
	return os.Getenv(envRank), true
}

// joinTime is how long the ranks of a host wait for each other.
const joinTime = 30 * time.Second

// Connect joins the job whose launcher has started this process and returns the rank's Bootstrap, which also is a
// core.DescriptorSharer and a core.Exiter. It may be called once. It removes PMI_FD from the environment, so that nothing else,
// such as an MPI library, takes the connection for its own.
//
// It is collective, and blocks until all ranks have called it.
func Connect() (core.Bootstrap, error) {
	if joined.Swap(true) {
		return nil, errors.New("pmi: this process has joined its job already")
	}
	number := func(name string, low, high int) (int, error) {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("pmi: %s=%q is no number from %d to %d; start the program by a launcher that speaks PMI, such as MPICH's mpiexec or srun --mpi=pmi2",
				name, os.Getenv(name), low, high)
		}
		return n, nil
	}
	size, err := number(envSize, 1, spawner.MaxRanks)
	if err != nil {
		return nil, err
	}
	rank, err := number(envRank, 0, size-1)
	if err != nil {
		return nil, err
	}
	fd, err := number(envFD, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	os.Unsetenv(envFD)
	unix.CloseOnExec(fd)
	s, err := open(fd)
	if err != nil {
		return nil, fmt.Errorf("pmi: rank %d: the launcher's socket, %s=%d: %w", rank, envFD, fd, err)
	}
	b, err := join(s, rank, size, spawner.HostIdentity())
	if err != nil {
		s.conn.Close()
		return nil, fmt.Errorf("pmi: rank %d: %w", rank, err)
	}
	// srun takes the highest status of a rank, which is 137 where it has killed one.
	b.kills = os.Getenv("SLURM_STEP_ID") != "" && os.Getenv("HYDI_CONTROL_FD") == "" // the latter: Hydra in an allocation
	return b, nil
}

// join makes a rank of the job of a launcher, on a host of that identity.
func join(s *server, rank, size int, identity string) (*bootstrap, error) {
	st, err := openStore(s)
	if err != nil {
		return nil, err
	}
	b := &bootstrap{rank: rank, size: size, store: st, failed: make(chan struct{}), done: make(chan error, 1)}
	b.host = &host{rank: rank, size: size, failed: b.failed, heard: b.heard}
	identities, err := b.Exchange([]byte(identity))
	if err != nil {
		return nil, err
	}
	b.hostOf = numberHosts(identities)
	for r, h := range b.hostOf {
		if h == b.hostOf[rank] {
			b.host.local = append(b.host.local, core.Rank(r))
		}
	}
	err = b.meet()
	if err == nil {
		err = st.fence() // all have met: now a peer may say something to a rank, which passes it on
	}
	if err != nil {
		for _, p := range b.host.peers {
			if p != nil {
				p.Close()
			}
		}
		return nil, err
	}
	for _, p := range b.host.peers {
		go b.host.watch(p)
	}
	go b.watch()
	return b, nil
}

// numberHosts numbers hosts, of which each rank tells the identity, from 0 in the order of their lowest ranks.
func numberHosts(identities [][]byte) []int {
	numbers, hosts := make(map[string]int), make([]int, len(identities))
	for r, id := range identities {
		n, known := numbers[string(id)]
		if !known {
			n = len(numbers)
			numbers[string(id)] = n
		}
		hosts[r] = n
	}
	return hosts
}

// meet connects the ranks of each host.
func (b *bootstrap) meet() error {
	h, st := b.host, b.store
	st.begin()
	lowest, alone := h.lowest() == b.rank, len(h.local) == 1
	var g *spawner.Gathering
	if lowest && !alone {
		var err error
		if g, err = spawner.Gather(); err != nil {
			return err
		}
		defer g.Close()
		if err := st.publish(b.rank, g.Address()); err != nil {
			return err
		}
	}
	if err := st.fence(); err != nil {
		return err
	}
	switch {
	case alone:
		return nil
	case lowest:
		return h.gather(g, time.Now().Add(joinTime))
	}
	address, err := st.read(h.lowest())
	if err != nil {
		return err
	}
	c, err := spawner.Come(address, b.rank)
	if err != nil {
		return fmt.Errorf("meeting rank %d, the lowest of this host: %w", h.lowest(), err)
	}
	h.peers = []*peer{newPeer(h.lowest(), c)}
	return nil
}
