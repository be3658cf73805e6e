package main

// #include "internal.h"
import "C"

import (
	"errors"
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// end ends the rank's part of the job, which call could not do for the reason err. It does not return.
func end(call string, err error) {
	var misuse *core.UsageError
	if errors.As(err, &misuse) {
		err = fmt.Errorf("rank %d: %s: %s", misuse.Rank, call, misuse.Msg)
	} else {
		err = fmt.Errorf("%s: %w", call, err)
	}
	err = job.Leave(err)
	report(err)
	C.gasneti_end(C.int(core.StatusOf(err)))
}

// report says why the job has ended, unless its launcher does.
func report(err error) {
	if !aqueduct.Launched() && (job == nil || !job.Modelled()) { // the model's process says it
		fmt.Fprintln(os.Stderr, "aqueduct:", err)
	}
}

// aqLeave has the rank wait until all have left, serving them. If the job ends otherwise meanwhile, that ends the
// process.
//
//export aqLeave
func aqLeave() {
	if err := job.Leave(nil); err != nil {
		report(err)
		job.Exit(core.StatusOf(err))
	}
}

// aqExit ends the job with the status (gasnet_exit), and the process. The thread that C has made for it calls.
//
//export aqExit
func aqExit(status C.int) { job.Exit(int(status)) }

// aqMisuse ends the job because of a misuse that C has found.
//
//export aqMisuse
func aqMisuse(call, why *C.char) {
	name := C.GoString(call)
	end(name, &core.UsageError{Rank: job.Rank(), Op: name, Msg: C.GoString(why)})
}
