package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// place returns where the n bytes at off of rank's segment lie in this process, by a table of
// the segments that it reaches; nil if it does not reach them all.
func place(reached segments, rank core.Rank, off uint64, n int) unsafe.Pointer {
	i := uint(rank) - uint(reached.first)
	if i >= uint(len(reached.mem)) {
		return nil
	}
	mem := reached.mem[i]
	if off > uint64(len(mem)) || uint64(n) > uint64(len(mem))-off {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), off) // nil of none, whose length is 0
}

// offsetOf returns where in this rank's segment b lies, if it does.
func (ep *Endpoint) offsetOf(b []byte) (uint64, bool) {
	seg := ep.core.Segment()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(seg)))
	return uint64(at), len(seg) > 0 && at <= uintptr(len(seg)) && uintptr(len(b)) <= uintptr(len(seg))-at
}

// move copies src to memory that the caller has checked. The sizes of values are stores, the
// most frequent first.
func move(to unsafe.Pointer, src []byte) {
	switch n := len(src); {
	case n == 8:
		*(*[8]byte)(to) = [8]byte(src)
	case n == 4:
		*(*[4]byte)(to) = [4]byte(src)
	case n == 2:
		*(*[2]byte)(to) = [2]byte(src)
	default:
		copy(unsafe.Slice((*byte)(to), len(src)), src)
	}
}

// fetch copies from memory that the caller has checked.
func fetch(dst []byte, from unsafe.Pointer) {
	switch n := len(dst); {
	case n == 8:
		*(*[8]byte)(dst) = *(*[8]byte)(from)
	case n == 4:
		*(*[4]byte)(dst) = *(*[4]byte)(from)
	case n == 2:
		*(*[2]byte)(dst) = *(*[2]byte)(from)
	default:
		copy(dst, unsafe.Slice((*byte)(from), len(dst)))
	}
}
