package link

import "unsafe"

// aligned reports whether memory begins where a 64-bit word may.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%wordSize == 0 }

// words views memory, which is aligned, as 64-bit words.
func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/wordSize)
}
