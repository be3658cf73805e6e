package nbrhd

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
)

// openEpoll joins the descriptors of both conduits, if both are waited for and have one.
func (c *conduit) openEpoll() error {
	if c.alone {
		return nil
	}
	for _, s := range c.sleeper {
		if s.FD() < 0 {
			return nil
		}
	}
	var err error
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("nbrhd: epoll_create1: %w", err)
	}
	for _, s := range c.sleeper {
		fd := s.FD()
		if err := unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return fmt.Errorf("nbrhd: epoll_ctl: %w", err)
		}
	}
	return nil
}

// Sleeper implements core.Conduit.
func (c *conduit) Sleeper() core.Sleeper { return (*sleeper)(c) }

// sleeper implements core.Sleeper.
type sleeper conduit

// Arm implements core.Sleeper. What the far conduit has to say a poll finds, so there must have
// been one that looked.
func (s *sleeper) Arm() (ready bool) {
	if s.alone {
		return s.sleeper[far].Arm()
	}
	a, b := s.sleeper[near].Arm(), s.sleeper[far].Arm()
	if s.polls != 0 {
		s.look = true // the next poll does
		return true
	}
	return a || b
}

// FD implements core.Sleeper.
func (s *sleeper) FD() int {
	if s.alone {
		return s.sleeper[far].FD()
	}
	return s.epoll
}

// Disarm implements core.Sleeper.
func (s *sleeper) Disarm() {
	if !s.alone {
		s.sleeper[near].Disarm()
	}
	s.sleeper[far].Disarm()
}
