package udp

import "github.com/aqueduct-go/aqueduct/core"

// Sleeper implements core.Conduit.
func (c *conduit) Sleeper() core.Sleeper { return sleeper{c} }

// sleeper implements core.Sleeper. A sleeping rank waits for its socket, which is readable as
// long as there is something in it; the service leaves it what comes, and cares for timers
// alone.
type sleeper struct{ c *conduit }

// Arm looks at what has been read from the socket already. A rank for which something is due
// before the service would look stays awake until then.
func (s sleeper) Arm() bool {
	c := s.c
	c.mu.Enter()
	defer c.mu.Leave()
	c.asleep = true
	c.attend()
	return c.bundle.Backlog() > 0 || c.bundle.Events() != c.seen || c.bundle.Due() <= c.now()+tick
}

func (s sleeper) FD() int { return s.c.sock.FD }

func (s sleeper) Disarm() {
	c := s.c
	c.mu.Enter()
	c.asleep = false
	c.attend()
	c.mu.Leave()
}
