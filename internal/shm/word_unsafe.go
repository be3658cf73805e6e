package shm

import (
	"encoding/binary"
	"unsafe"
)

var bigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1<<8

// word returns the aligned 32-bit word around *p and the position of *p in it, in bits.
func word(p *uint8) (w *uint32, shift uint) {
	i := uint(uintptr(unsafe.Pointer(p))) & 3
	w = (*uint32)(unsafe.Add(unsafe.Pointer(p), -int(i)))
	if bigEndian {
		i = 3 - i
	}
	return w, i * 8
}
