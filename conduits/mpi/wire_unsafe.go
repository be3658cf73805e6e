package mpi

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// aligned reports whether a buffer begins at a multiple of size bytes.
func aligned(buf []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(buf)))%uintptr(size) == 0
}

// arguments returns the window of 16 arguments at offset off of a packet's buffer, which has
// slack behind it. Less may belong to the record, whose payload then begins inside.
func arguments(buf []byte, off int) *[core.MaxArgs]uint32 {
	return (*[core.MaxArgs]uint32)(unsafe.Pointer(unsafe.SliceData(buf[off : off+4*core.MaxArgs])))
}
