package shm

import (
	"encoding/binary"
	"sync/atomic"
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

// swapByte replaces one byte of a word without disturbing its neighbours, which other
// processes may be storing at the same time.
func swapByte(p *uint8, v uint8) uint8 {
	w, shift := word(p)
	for {
		old := atomic.LoadUint32(w)
		if atomic.CompareAndSwapUint32(w, old, old&^(0xff<<shift)|uint32(v)<<shift) {
			return uint8(old >> shift)
		}
	}
}
