package shm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Share makes memory of this process shared: its pages are those of a new region of kind Shared from then on, which has the bytes of zero that
// the memory has. mem is whole pages outside the Go heap, such as those of a region of an Arena, which nobody has written. It
// is unmapped as it would have been.
func Share(mem []byte) (*Region, error) {
	at := unsafe.Pointer(unsafe.SliceData(mem))
	if len(mem) == 0 || len(mem)%PageSize != 0 || uintptr(at)%uintptr(PageSize) != 0 {
		return nil, fmt.Errorf("shm: share %d bytes at %p: they are no whole pages", len(mem), at)
	}
	r, err := NewRegion(len(mem), Shared)
	if err != nil {
		return nil, err
	}
	if _, err := unix.MmapPtr(r.fd, 0, at, uintptr(len(mem)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		return nil, errors.Join(fmt.Errorf("shm: share %d bytes: mmap: %w", len(mem), err), r.Close())
	}
	return r, nil
}
