//go:build cgo

package libmpi

/*
#cgo noescape aqmpi_call_collect
#include "call.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// fasterFrom is the bytes of a rank's block, or of the vector that is reduced, from which MPI was
// found to be faster.
const fasterFrom = 16 << 10

// MaxCollective implements mpi.Collector: 0 with setting collectives=own.
func (t *transport) MaxCollective() int {
	if t.takes == takesNone {
		return 0
	}
	return math.MaxInt32 // what MPI counts in
}

// Collects implements mpi.Collector.
func (t *transport) Collects(x *core.Collective) bool {
	return able(x) && (t.takes == takesAll || t.faster(x))
}

// able reports whether MPI does what is promised. What moves no bytes is no affair of its, but for
// barriers. Floating-point numbers it may combine in whatever order, and does not say which of two
// zeros is the lesser; and MPICH 4.0 takes the lesser of two unsigned numbers as if they had a sign.
func able(x *core.Collective) bool {
	const signed, unsigned = core.ElementInt32 | core.ElementInt64, core.ElementUint32 | core.ElementUint64
	switch x.Op {
	case core.CollectiveBarrier:
		return true
	case core.CollectiveReduce, core.CollectiveAllReduce:
		ordering := x.Combine == core.AtomicMin || x.Combine == core.AtomicMax
		return len(x.Src) > 0 && (x.Type&signed != 0 || x.Type&unsigned != 0 && !ordering)
	}
	return len(x.Dst) > 0
}

// faster reports whether MPI was found to be faster: only where ranks do not share their segments.
func (t *transport) faster(x *core.Collective) bool {
	if t.near {
		return false
	}
	switch x.Op {
	case core.CollectiveBarrier:
		return true
	case core.CollectiveBroadcast:
		return false
	case core.CollectiveAllToAll:
		return len(x.Src)/t.ranks >= fasterFrom
	}
	return len(x.Src) >= fasterFrom
}

// Collect implements mpi.Collector by one crossing.
func (t *transport) Collect(x *core.Collective, id uint64) error {
	to := &t.collective[0]
	*to = C.aqmpi_collective{id: C.uint64_t(id), root: C.int32_t(x.Root), len: C.int64_t(len(x.Src))}
	source, inPlace := x.Src, len(x.Dst) > 0 && unsafe.SliceData(x.Dst) == unsafe.SliceData(x.Src)
	switch x.Op {
	case core.CollectiveBarrier:
		to.what = C.AQMPI_BARRIER
	case core.CollectiveBroadcast:
		to.what, to.len = C.AQMPI_BROADCAST, C.int64_t(len(x.Dst))
		copy(x.Dst, x.Src) // MPI has one buffer for both
	case core.CollectiveReduce:
		to.what = C.AQMPI_REDUCE
	case core.CollectiveAllReduce:
		to.what = C.AQMPI_ALLREDUCE
	case core.CollectiveAllGather:
		to.what, inPlace = C.AQMPI_ALLGATHER, true // for MPI all ranks' blocks are in place, or none is
		copy(x.Dst[t.self*len(x.Src):], x.Src)
	case core.CollectiveAllToAll:
		to.what, to.len = C.AQMPI_ALLTOALL, C.int64_t(len(x.Src)/t.ranks)
	}
	to.element, to.combine = C.int32_t(x.Type.Size()), combining(x.Combine)
	if inPlace {
		source = nil
	}
	to.source, to.result = address(source), address(x.Dst)
	if t.lib.shared.Load() {
		t.lib.mu.Lock()
		defer t.lib.mu.Unlock()
	}
	if C.aqmpi_call_collect(t.lib.table, t.end, C.uintptr_t(uintptr(unsafe.Pointer(to)))) != 0 {
		return t.lib.failure()
	}
	return nil
}

// combining returns what the shim calls an operator; for what is no reduction, anything.
func combining(op core.AtomicOp) C.int32_t {
	switch op {
	case core.AtomicAnd:
		return C.AQMPI_BITAND
	case core.AtomicOr:
		return C.AQMPI_BITOR
	case core.AtomicXor:
		return C.AQMPI_BITXOR
	case core.AtomicAdd:
		return C.AQMPI_SUM
	case core.AtomicMult:
		return C.AQMPI_PRODUCT
	case core.AtomicMin:
		return C.AQMPI_MIN
	}
	return C.AQMPI_MAX
}
