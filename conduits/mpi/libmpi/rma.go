//go:build cgo

package libmpi

// #include "call.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/core"
)

// Segment implements mpi.Segmenter.
func (t *transport) Segment(size int) (mpi.Segment, error) {
	t.lib.mu.Lock()
	defer t.lib.mu.Unlock()
	if t.rma == rmaOff {
		return mpi.Segment{}, nil
	}
	return t.share(size)
}

// share makes the segment as memory that is shared with the other ranks of this host.
func (t *transport) share(size int) (s mpi.Segment, err error) {
	near := inC[C.aqmpi_near](t.ranks)
	defer freeC(near)
	var made C.aqmpi_shared
	if C.aqmpi_call_share(t.lib.table, t.end, C.int64_t(size), unsafe.SliceData(near), &made) != 0 {
		return s, t.lib.failure()
	}
	if made.n == 0 {
		return s, t.unshared(&made)
	}
	t.near = int(made.n) == t.ranks
	segments := make(map[core.Rank][]byte, made.n)
	for _, n := range near[:made.n] {
		segments[core.Rank(n.rank)] = view(n.memory, int(n.len))
	}
	s.Memory = segments[core.Rank(t.lib.rank)]
	s.Reach = func(r core.Rank) []byte { return segments[r] }
	return s, nil
}

// unshared returns an error if the segments of this host do not fit into its shared memory. The
// default then is to do without, which one rank says.
func (t *transport) unshared(made *C.aqmpi_shared) error {
	if made.need <= made.room {
		return nil
	}
	err := fmt.Errorf("the segments of this host's ranks take %d MB of shared memory, but %d MB are left in %s; make that larger (docker run --shm-size), set smaller ones by --segment (AQUEDUCT_SEGMENT), or set rma=off",
		made.need>>20, made.room>>20, t.lib.family.memory())
	if t.rma == rmaShared {
		return err
	}
	if made.place == 0 {
		t.log.Warn("put and get go by messages: " + err.Error())
	}
	return nil
}

// view returns n bytes of C's memory.
func view(at unsafe.Pointer, n int) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(at), n)
}
