package myrinet

import (
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Sleeper implements core.Conduit. A rank says in its board that it sleeps, and looks once more; the card reports, or takes orders, and then looks whether the rank sleeps. Both have a full barrier in between, so that one sees the other.
func (c *live) Sleeper() core.Sleeper { return (*sleeper)(c) }

// sleeper is a live rank as core.Sleeper.
type sleeper live

// Arm implements core.Sleeper.
func (s *sleeper) Arm() bool {
	atomic.StoreUint32(s.in.asleep, 1)
	if s.own != nil && !s.own.alone {
		s.own.doze(true)
		s.did = 1
		if s.own.attend(s.look); s.did > 0 { // or somebody else is in the loop
			return true
		}
	}
	return (*live)(s).ready()
}

// FD implements core.Sleeper.
func (s *sleeper) FD() int { return s.wake }

// Disarm implements core.Sleeper.
func (s *sleeper) Disarm() {
	atomic.StoreUint32(s.in.asleep, 0)
	if s.own != nil {
		s.own.doze(false)
	}
	shm.Silence(s.wake)
}

// ready reports whether a report has come, or room that somebody waits for.
func (c *live) ready() bool {
	if !c.reports.Empty() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.outlets {
		if c.outlets[i].ready() {
			return true
		}
	}
	return false
}
