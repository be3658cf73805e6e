package element

import "encoding/binary"

// Put stores an element's bits, 4 or 8 bytes, in this machine's byte order.
func Put(dst []byte, x uint64) {
	if len(dst) == 4 {
		binary.NativeEndian.PutUint32(dst, uint32(x))
	} else {
		binary.NativeEndian.PutUint64(dst, x)
	}
}

// Get is the inverse.
func Get(src []byte) uint64 {
	if len(src) == 4 {
		return uint64(binary.NativeEndian.Uint32(src))
	}
	return binary.NativeEndian.Uint64(src)
}
