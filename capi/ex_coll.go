package main

// #include "ex.h"
// #cgo noescape gasneti_ex_combine
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

//export aqExBarrier
func aqExBarrier(self, team C.int) C.uint64_t {
	ev, err := teams.at(team).BarrierNB(context(self))
	check("gex_Coll_BarrierNB", err)
	return C.uint64_t(ev)
}

//export aqExBroadcast
func aqExBroadcast(self, team C.int, root C.gex_Rank_t, dst, src unsafe.Pointer, n C.size_t) C.uint64_t {
	const call = "gex_Coll_BroadcastNB"
	t := teams.at(team)
	to, err := memory(dst, n)
	check(call, err)
	var from []byte
	if t.Rank() == int(root) {
		from, err = memory(src, n)
		check(call, err)
	}
	ev, err := t.BroadcastNB(context(self), int(root), to, from)
	check(call, err)
	return C.uint64_t(ev)
}

// aqExReduce reduces to a root, or to all for GASNETI_NO_ROOT.
//
//export aqExReduce
func aqExReduce(self C.int, call *C.char, team, root C.int, dst, src unsafe.Pointer, dt C.gex_DT_t, size, count C.size_t, op C.gex_OP_t, fn C.gex_Coll_ReduceFn_t, cdata unsafe.Pointer) C.uint64_t {
	name, t, c := C.GoString(call), teams.at(team), context(self)
	r, err := reduction(dt, size, op, fn, cdata)
	check(name, err)
	if count > maxMemory/max(size, 1) {
		check(name, errMemory)
	}
	from, err := memory(src, size*count)
	check(name, err)
	var to []byte
	if root == C.GASNETI_NO_ROOT || t.Rank() == int(root) {
		to, err = memory(dst, size*count)
		check(name, err)
	}
	var ev extended.Event
	if root == C.GASNETI_NO_ROOT {
		ev, err = t.AllReduceNB(c, to, from, r)
	} else {
		ev, err = t.ReduceNB(c, int(root), to, from, r)
	}
	check(name, err)
	return C.uint64_t(ev)
}

// reduction returns what C says by a type of elements, their size and an operation.
func reduction(dt C.gex_DT_t, size C.size_t, op C.gex_OP_t, fn C.gex_Coll_ReduceFn_t, cdata unsafe.Pointer) (extended.Reduction, error) {
	misuse := func(format string, args ...any) error {
		return &core.UsageError{Rank: job.Rank(), Msg: fmt.Sprintf(format, args...)}
	}
	if op != C.GEX_OP_USER && op != C.GEX_OP_USER_NC {
		r := extended.Reduction{Type: extended.Type(dt), Op: extended.Op(op)}
		if int(size) != r.Type.Size() {
			return r, misuse("elements of %v have %d bytes; dt_sz is %d", r.Type, r.Type.Size(), size)
		}
		return r, nil
	}
	switch {
	case fn == nil:
		return extended.Reduction{}, misuse("user_op is NULL")
	case size == 0 || size > maxMemory:
		return extended.Reduction{}, misuse("dt_sz is %d", size)
	}
	r := extended.Reduction{Size: int(size), Ordered: op == C.GEX_OP_USER_NC}
	r.Func = func(dst, src []byte) { combine(fn, src, dst, len(dst)/int(size), cdata) }
	if r.Ordered { // the program's function leaves its result where its second operand was, which is not to be changed here
		r.Func = func(dst, src []byte) {
			second := append([]byte(nil), src...)
			combine(fn, dst, second, len(dst)/int(size), cdata)
			copy(dst, second)
		}
	}
	return r, nil
}

// combine calls a program's function: second[i] = first[i] ⊕ second[i].
func combine(fn C.gex_Coll_ReduceFn_t, first, second []byte, count int, cdata unsafe.Pointer) {
	C.gasneti_ex_combine(fn, unsafe.Pointer(unsafe.SliceData(first)), unsafe.Pointer(unsafe.SliceData(second)), C.size_t(count), cdata)
}
