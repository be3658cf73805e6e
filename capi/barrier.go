package main

// #include <stdlib.h>
// #include "internal.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended"
)

// barrier is what the endpoint's barriers share with C; nil if nothing.
var barrier *extended.ForeignBarrier

// shareBarrier has C carry out barriers itself, where it sends and takes messages.
func shareBarrier() {
	var err error
	barrier, err = endpoint.ForeignBarrier(func(bytes uintptr) unsafe.Pointer { return C.calloc(C.size_t(max(1, bytes)), 1) })
	check("gasnet_attach", err)
	C.gasneti_share_barrier(barrier.State, C.uint32_t(barrier.Handler), C.uint64_t(barrier.Team))
}

// aqBarrierLater has polls in Go go on with the barrier, in which C has found no room for a notice.
//
//export aqBarrierLater
func aqBarrierLater() { barrier.Later() }

// barrierFlags returns the flags of a barrier's name, of those that C names.
func barrierFlags(flags C.int) (f extended.BarrierFlags) {
	if flags&C.GASNET_BARRIERFLAG_ANONYMOUS != 0 {
		f |= extended.Anonymous
	}
	if flags&C.GASNET_BARRIERFLAG_MISMATCH != 0 {
		f |= extended.Mismatch
	}
	return f
}

// outcome returns what the end of a barrier returns.
func outcome(call string, err error) C.int {
	if errors.Is(err, extended.ErrMismatch) {
		return C.GASNET_ERR_BARRIER_MISMATCH
	}
	check(call, err)
	return C.GASNET_OK
}

//export aqNotify
func aqNotify(self, id, flags C.int) {
	check("gasnet_barrier_notify", endpoint.World().Notify(context(self), int32(id), barrierFlags(flags)))
}

//export aqWaitBarrier
func aqWaitBarrier(self, id, flags C.int) C.int {
	return outcome("gasnet_barrier_wait", endpoint.World().WaitBarrier(context(self), int32(id), barrierFlags(flags)))
}

//export aqTryBarrier
func aqTryBarrier(self, id, flags C.int) C.int {
	done, err := endpoint.World().TryBarrier(context(self), int32(id), barrierFlags(flags))
	if err == nil && !done {
		return C.GASNET_ERR_NOT_READY
	}
	return outcome("gasnet_barrier_try", err)
}

// aqBarrierResult returns whether the last barrier had a name, and which.
//
//export aqBarrierResult
func aqBarrierResult(id *C.int) C.int {
	name, named := endpoint.World().BarrierResult()
	if !named {
		return 0
	}
	*id = C.int(name)
	return 1
}
