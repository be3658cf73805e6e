//go:build cgo

package libmpi

// #include "call.h"
import "C"

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
)

// Segment implements mpi.Accessor, with setting rma=on: the segment is a window of MPI's.
func (t *transport) Segment(size int) ([]byte, error) {
	if !t.rma {
		return nil, nil
	}
	var memory unsafe.Pointer
	t.lib.mu.Lock()
	defer t.lib.mu.Unlock()
	if C.aqmpi_call_window(t.lib.table, t.end, C.int64_t(size), &memory) != 0 {
		return nil, t.lib.failure()
	}
	if size == 0 {
		return []byte{}, nil
	}
	return unsafe.Slice((*byte)(memory), size), nil
}

// Access implements mpi.Accessor by one crossing.
func (t *transport) Access(a *mpi.Access) error {
	to := &t.access[0]
	to.rank, to.off, to.len = C.int32_t(a.Rank), C.uint64_t(a.Off), C.int64_t(len(a.Mem))
	to.source, to.result = unsafe.Pointer(unsafe.SliceData(a.Mem)), unsafe.Pointer(unsafe.SliceData(a.Fetch))
	switch a.What {
	case mpi.AccessPut:
		to.what = C.AQMPI_PUT
	case mpi.AccessGet:
		to.what, to.result = C.AQMPI_GET, to.source
	case mpi.AccessAdd:
		to.what = C.AQMPI_ADD
	case mpi.AccessFetch:
		to.what = C.AQMPI_FETCH
	}
	if t.lib.shared.Load() {
		t.lib.mu.Lock()
		defer t.lib.mu.Unlock()
	}
	if C.aqmpi_call_access(t.lib.table, t.end, C.uintptr_t(uintptr(unsafe.Pointer(to)))) != 0 {
		return t.lib.failure()
	}
	return nil
}
