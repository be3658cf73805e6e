package main

// #include "internal.h"
import "C"

import (
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// thread is what belongs to a C thread. C keeps its number.
type thread struct {
	*extended.Context
	turns  core.Turns // of the GASNET_BLOCKUNTIL that it is in
	pieces pieces     // of the vector or indexed transfer that it names
	image  image      // that it is in collective calls
}

// threads are those of all C threads that use the library, by number. A thread that has ended leaves its place, and
// its context, to the next one that comes.
var threads struct {
	mu   sync.Mutex
	all  atomic.Pointer[[]*thread] // replaced when it grows
	free []C.int
}

// openMain makes thread 0, of the thread that has called gasnet_init. It has the endpoint's default context.
func openMain() {
	threads.all.Store(&[]*thread{{Context: &endpoint.Context}})
}

// of returns the calling thread's own.
func of(self C.int) *thread { return (*threads.all.Load())[self] }

// context returns the calling thread's context.
func context(self C.int) *extended.Context { return of(self).Context }

// aqThreadOpen gives a thread that calls for the first time its number.
//
//export aqThreadOpen
func aqThreadOpen() C.int {
	refuseThread()
	threads.mu.Lock()
	defer threads.mu.Unlock()
	if n := len(threads.free); n > 0 {
		self := threads.free[n-1]
		threads.free = threads.free[:n-1]
		return self
	}
	all := *threads.all.Load()
	more := append(all[:len(all):len(all)], &thread{Context: endpoint.NewContext()})
	threads.all.Store(&more)
	return C.int(len(all))
}

// aqThreadClose ends a thread's use of the library. Implicit operations that it has left under way are waited for.
//
//export aqThreadClose
func aqThreadClose(self C.int) {
	c := context(self)
	if ev, err := c.EndRegion(); err == nil {
		check("pthread_exit", c.Wait(ev))
	}
	check("pthread_exit", c.WaitNBI(extended.All))
	of(self).image = image{}
	threads.mu.Lock()
	threads.free = append(threads.free, self)
	threads.mu.Unlock()
}

// check ends the job, as end does, if err is not nil.
func check(call string, err error) {
	if err != nil {
		end(call, err)
	}
}
