// Package cpu has the few processor instructions and properties that waiting, publishing
// through shared memory and telling the time often need and that Go has no portable call for.
//
// Every function compiles on every architecture; where a processor lacks the thing, the
// function does the nearest harmless thing, as its comment says.
package cpu

import "golang.org/x/sys/unix"

// Yield lets the kernel run another thread on this processor (sched_yield). It is a raw
// system call: the Go scheduler does not learn of it and keeps this thread's P, so it
// serves ranks that are processes. Ranks that are goroutines of one process wait for
// each other with runtime.Gosched.
func Yield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
