package shm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NewBell makes a bell: an eventfd, closed on exec and non-blocking, that is readable
// from Ring until Silence. The descriptor is the caller's to close and to pass on.
func NewBell() (fd int, err error) {
	fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return -1, fmt.Errorf("shm: make a bell: eventfd: %w", err)
	}
	return fd, nil
}

// Ring makes the bell readable, in every process that has it. One system call, which
// never blocks; ringing a bell that rings already changes nothing.
func Ring(fd int) { eventfdWrite(fd, 1) }

// Silence ends the ringing. One system call, which never blocks. Whoever silences a bell
// looks afterwards at everything it may have rung for.
func Silence(fd int) { eventfdRead(fd) }
