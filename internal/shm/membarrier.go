package shm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Commands of membarrier(2).
const (
	membarrierQuery                   = 0
	membarrierGlobalExpedited         = 1 << 1
	membarrierRegisterGlobalExpedited = 1 << 2
)

// RegisterMembarrier makes this process one of those whose threads Membarrier reaches,
// and reports whether the kernel can do both. A job in which any process cannot must
// publish with Swap or a Fence wherever it relied on Membarrier.
func RegisterMembarrier() bool {
	const need = membarrierGlobalExpedited | membarrierRegisterGlobalExpedited
	if cmds, err := membarrier(membarrierQuery); err != nil || cmds&need != need {
		return false
	}
	_, err := membarrier(membarrierRegisterGlobalExpedited)
	return err == nil
}

// Membarrier makes every running thread of every registered process, the caller's
// included, execute a full barrier before it returns. It takes some 15 µs and is meant
// for the side of a Dekker pattern that acts rarely: the one that goes to sleep.
func Membarrier() error {
	if _, err := membarrier(membarrierGlobalExpedited); err != nil {
		return fmt.Errorf("shm: membarrier: %w", err)
	}
	return nil
}

func membarrier(cmd uintptr) (uintptr, error) {
	r, _, err := unix.Syscall(unix.SYS_MEMBARRIER, cmd, 0, 0)
	if err != 0 {
		return 0, err
	}
	return r, nil
}
