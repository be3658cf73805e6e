package stepped

import "unsafe"

// address returns where memory begins.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
