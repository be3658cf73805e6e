package main

// #include "ex.h"
import "C"

import (
	"encoding/binary"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended"
)

// aqExAny reports whether any member of the team says so. Collective over the team.
//
//export aqExAny
func aqExAny(self, team, mine C.int) C.int {
	b := binary.NativeEndian.AppendUint64(nil, uint64(mine))
	err := teams.at(team).AllReduce(context(self), b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Max})
	check("gex_EP_PublishBoundSegment", err)
	return C.int(binary.NativeEndian.Uint64(b))
}

// aqExPublish makes memory of the program's the segment; NULL: the rank has none. Collective over the job.
//
//export aqExPublish
func aqExPublish(self C.int, addr unsafe.Pointer, size C.uintptr_t) {
	check("gex_EP_PublishBoundSegment", attachSegment(context(self), addr, uint64(size)))
}
