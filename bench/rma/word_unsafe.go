package rma

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// addLoop adds 1 to the first word of mem, which is aligned, n times.
func addLoop(mem []byte, n int) {
	p := (*int64)(unsafe.Pointer(unsafe.SliceData(mem[:word])))
	var sum int64
	for range n {
		sum += atomic.AddInt64(p, 1)
	}
	runtime.KeepAlive(sum) // or the compiler need not fetch
}
