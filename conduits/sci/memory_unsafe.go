package sci

import "unsafe"

// words views page-aligned memory as 32-bit words.
func words(b []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// longWords views page-aligned memory as 64-bit words.
func longWords(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// within returns where in memory b lies, if it does.
func within(memory, b []byte) (off int, ok bool) {
	d := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return int(d), d <= uintptr(len(memory)) && uintptr(len(b)) <= uintptr(len(memory))-d
}

// slotsAt returns the ring of slots at off of a command segment.
func slotsAt(b []byte, off int) *[depth]slot {
	return (*[depth]slot)(unsafe.Pointer(unsafe.SliceData(b[off:][:depth*slotSize])))
}
