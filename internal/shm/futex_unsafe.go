package shm

import (
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), without the flag that would confine them to one process.
const (
	opFutexWait = 0
	opFutexWake = 1
)

// futexWait sleeps while *p is v, for at most d unless d is negative.
func futexWait(p *uint32, v uint32, d time.Duration) unix.Errno {
	var limit *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		limit = &ts
	}
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(p)), opFutexWait, uintptr(v),
		uintptr(unsafe.Pointer(limit)), 0, 0)
	return err
}

// futexWake wakes everyone who sleeps on *p.
func futexWake(p *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(p)), opFutexWake, math.MaxInt32, 0, 0, 0)
}
