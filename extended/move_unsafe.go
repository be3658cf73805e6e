package extended

import "unsafe"

// move copies src to memory that the caller has checked. The sizes of values are stores.
func move(to unsafe.Pointer, src []byte) {
	switch len(src) {
	case 8:
		*(*[8]byte)(to) = [8]byte(src)
	case 4:
		*(*[4]byte)(to) = [4]byte(src)
	default:
		copy(unsafe.Slice((*byte)(to), len(src)), src)
	}
}

// fetch copies from memory that the caller has checked.
func fetch(dst []byte, from unsafe.Pointer) {
	switch len(dst) {
	case 8:
		*(*[8]byte)(dst) = *(*[8]byte)(from)
	case 4:
		*(*[4]byte)(dst) = *(*[4]byte)(from)
	default:
		copy(dst, unsafe.Slice((*byte)(from), len(dst)))
	}
}
