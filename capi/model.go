package main

// #include "internal.h"
// #include "model.h"
import "C"

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// aqStep makes the process the model's, whose children are the ranks, and returns the job's exit status.
//
//export aqStep
func aqStep(sockets, pids *C.int, n C.int) C.int {
	of := func(list *C.int) []int {
		numbers := make([]int, n)
		for i, v := range unsafe.Slice(list, n) {
			numbers[i] = int(v)
		}
		return numbers
	}
	return C.int(aqueduct.Step(of(sockets), of(pids)))
}

// underModel returns the option by which a rank joins a modelled job; nil live.
func underModel() []aqueduct.Option {
	if C.gasneti_model_socket < 0 {
		return nil
	}
	return []aqueduct.Option{aqueduct.Stepped(int(C.gasneti_model_socket))}
}

// startClock has the tools ask for virtual time, under a model.
func startClock() {
	if job.Modelled() {
		C.gasneti_model_clock()
	}
}

// refuseThread ends a modelled job in which a second thread calls: virtual time has no place for it, as it passes while a rank
// calls, and threads call in an order that the host decides.
func refuseThread() {
	if job.Modelled() {
		end("a call of a second thread", &core.UsageError{Rank: job.Rank(), Op: "thread", Msg: "under a model one thread of a rank may call the library, the one that has called gasnet_init; " +
			"let that communicate, or run the program live"})
	}
}

// aqNow returns the job's time in picoseconds.
//
//export aqNow
func aqNow() C.uint64_t { return C.uint64_t(job.Now()) }

// aqCompute lets time pass.
//
//export aqCompute
func aqCompute(ns C.uint64_t) {
	defer func() {
		if p := recover(); p != nil { // it is more than there is
			end("aqueduct_compute", fmt.Errorf("%v", p))
		}
	}()
	job.Compute(time.Duration(min(uint64(ns), math.MaxInt64)))
}
