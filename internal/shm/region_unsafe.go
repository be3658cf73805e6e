package shm

import (
	"sync/atomic"
	"unsafe"
)

// alignedHeap returns size bytes of Go memory that begin at a page boundary.
func alignedHeap(size int) []byte {
	b := make([]byte, size+PageSize)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (PageSize - 1)
	return b[skip : skip+size : skip+size]
}

// touch writes to every page without changing what is there.
func touch(b []byte) {
	for i := 0; i < len(b); i += PageSize {
		atomic.AddUint32((*uint32)(unsafe.Pointer(&b[i])), 0)
	}
}
