package element

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// elements returns two stretches of bytes, of equal lengths, as elements; not ok if one is
// not aligned for them.
func elements[T core.Number](dst, src []byte) (d, s []T, ok bool) {
	n := uintptr(len(dst)) / unsafe.Sizeof(*new(T))
	to, from := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src[:len(dst)]))
	if n == 0 {
		return nil, nil, true
	}
	if (uintptr(to)|uintptr(from))%unsafe.Sizeof(*new(T)) != 0 {
		return nil, nil, false
	}
	return unsafe.Slice((*T)(to), n), unsafe.Slice((*T)(from), n), true
}

// Bytes returns elements as bytes.
func Bytes[T core.Number](e []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(e))), len(e)*int(unsafe.Sizeof(*new(T))))
}

// combineUnaligned is combine for elements at any alignment: it takes them through an
// aligned buffer, a part at a time.
func combineUnaligned[T core.Number](op core.AtomicOp, dst, src []byte) {
	var d, s [128]T
	src = src[:len(dst)]
	for len(dst) > 0 {
		n := copy(Bytes(d[:]), dst)
		copy(Bytes(s[:]), src[:n])
		elements := n / int(unsafe.Sizeof(d[0]))
		combine(op, d[:elements], s[:elements])
		copy(dst, Bytes(d[:elements]))
		dst, src = dst[n:], src[n:]
	}
}
