package main

// #include "internal.h"
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/capi/layout"
	"github.com/aqueduct-go/aqueduct/core"
)

// fastVariable is the environment variable that has every call cross into Go, for tests and comparisons, if it is off.
const fastVariable = "AQUEDUCT_C_FAST"

// fastWanted returns whether C may do in its own code what it can.
func fastWanted() (bool, error) {
	switch v := os.Getenv(fastVariable); v {
	case "", "on":
		return true, nil
	case "off":
		return false, nil
	default:
		return false, fmt.Errorf("%s=%s: want on, the default, or off, which has every call cross into Go", fastVariable, v)
	}
}

// gasneti_fast_messages reports how many messages C has sent and taken itself, for tests.
//
//export gasneti_fast_messages
func gasneti_fast_messages() C.uint64_t {
	var sum uint64
	if foreign != nil {
		for r := range core.Rank(job.Size()) {
			n := foreign.Counts(r)
			sum += n.Requests + n.Replies + n.Received
		}
	}
	return C.uint64_t(sum)
}

// foreign is what the endpoint shares with C; nil if nothing.
var foreign *core.Foreign

// shareState has C send and take messages itself, if the endpoint allows that, once the program may send some. It needs all
// segments in reach, where they are or will be.
func shareState() {
	state, f := endpoint.Core().Foreign()
	if f == nil || foreign != nil || !endpoint.Core().Reaches() {
		return
	}
	several := C.int(0)
	if job.Config().Threads == core.Many {
		several = 1
	}
	if C.gasneti_share(C.uint32_t(layout.Version()), unsafe.Pointer(state), f.Rings, several) {
		foreign = f
		shareBarrier()
	}
}

// aqRouse wakes the thread that sleeps for all that wait.
//
//export aqRouse
func aqRouse() { foreign.Rouse() }

// aqWake wakes a rank that has announced to sleep.
//
//export aqWake
func aqWake(rank C.int) { foreign.Wake(int(rank)) }
