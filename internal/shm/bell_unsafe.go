package shm

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Failures are not reported: a full counter rings already, an empty one is silent, and a
// bell that was closed while its job ends has nobody to wake.

func eventfdWrite(fd int, n uint64) {
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&n)), unsafe.Sizeof(n))
}

func eventfdRead(fd int) {
	var n uint64
	unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&n)), unsafe.Sizeof(n))
}
