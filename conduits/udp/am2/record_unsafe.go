package am2

import "unsafe"

// arguments returns the window of MaxArgs words at offset off of b, which has blockSlack of
// memory behind it. Less may belong to the record, whose payload then begins inside.
func arguments(b []byte, off int) *[MaxArgs]uint32 {
	return (*[MaxArgs]uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), off))
}

// words returns the bytes of a window of arguments.
func words(args *[MaxArgs]uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(args)), 4*MaxArgs)
}
