package main

// #include "internal.h"
// #cgo noescape gasneti_sleep
import "C"

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep waits for descriptors on the C thread's own stack, where the program's handlers of signals expect to run.
func sleep(fds []unix.PollFd, timeout *unix.Timespec) {
	C.gasneti_sleep((*C.struct_pollfd)(unsafe.Pointer(unsafe.SliceData(fds))), C.int(len(fds)), (*C.struct_timespec)(unsafe.Pointer(timeout)))
}
