package spawner

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// nextEnded waits until a child that the calling thread started has ended and returns its
// process id without reaping it; ok is false if there is no such child.
func nextEnded() (pid int, ok bool) {
	var info unix.Siginfo
	for {
		// WNOTHREAD leaves the children of other threads alone, WNOWAIT the zombie.
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOTHREAD, nil)
		switch err {
		case nil:
			// si_pid opens the union behind the three ints, aligned as a pointer is.
			const word = unsafe.Sizeof(uintptr(0))
			const at = (3*4 + word - 1) / word * word
			return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at))), true
		case unix.EINTR:
		default:
			return 0, false
		}
	}
}
