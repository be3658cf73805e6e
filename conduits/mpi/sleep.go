package mpi

import "github.com/aqueduct-go/aqueduct/core"

// Sleeper implements core.Conduit.
func (c *conduit) Sleeper() core.Sleeper {
	if c.proc != nil {
		return nil
	}
	return sleeper{c}
}

// sleeper implements core.Sleeper for transports that cannot wake a sleeper: MPI has no
// descriptor to sleep on. The wait looks again every millisecond.
type sleeper struct{ c *conduit }

// Arm looks once more: whatever has ended since the last poll looked may be what somebody
// waits for.
func (s sleeper) Arm() bool {
	c := s.c
	c.lock()
	defer c.unlock()
	c.progress()
	return c.events != c.seen
}

func (sleeper) FD() int { return -1 }

func (sleeper) Disarm() {}
