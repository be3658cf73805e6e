package loopback

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Sleeper implements core.Conduit.
func (c *conduit) Sleeper() core.Sleeper {
	if c.model != nil {
		return nil
	}
	return &sleeper{c}
}

// bell wakes a sleeping rank. Whoever changes something counts the event first and then
// looks whether the rank sleeps; the rank says that it sleeps first and then looks at the
// count. Both are sequentially consistent, so one of them sees the other.
type bell struct {
	events atomic.Uint64
	seen   uint64 // events before the last poll looked
	asleep atomic.Bool
	fd     int
}

func (b *bell) open() error {
	fd, err := shm.NewBell()
	if err != nil {
		return fmt.Errorf("loopback: eventfd: %w", err)
	}
	b.fd = fd
	return nil
}

func (b *bell) close() error { return unix.Close(b.fd) }

// ring records an event.
func (b *bell) ring() {
	b.events.Add(1)
	if b.asleep.Load() {
		shm.Ring(b.fd)
	}
}

// look notes which events a poll that starts now will have seen.
func (b *bell) look() { b.seen = b.events.Load() }

// sleeper implements core.Sleeper.
type sleeper struct{ c *conduit }

func (s *sleeper) Arm() bool {
	b := &s.c.bell
	b.asleep.Store(true)
	return b.events.Load() != b.seen
}

func (s *sleeper) FD() int { return s.c.bell.fd }

func (s *sleeper) Disarm() {
	b := &s.c.bell
	b.asleep.Store(false)
	shm.Silence(b.fd)
}
