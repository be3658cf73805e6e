package main

// #include "internal.h"
import "C"

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/extended"
)

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
