package main

// #include "internal.h"
import "C"

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended"
)

// ready returns what a call that tries returns.
func ready(done bool) C.int {
	if done {
		return C.GASNET_OK
	}
	return C.GASNET_ERR_NOT_READY
}

// events returns a program's handles, which are events.
func events(list *C.uint64_t, n C.size_t) []extended.Event {
	return unsafe.Slice((*extended.Event)(unsafe.Pointer(list)), n)
}

//export aqWait
func aqWait(self C.int, ev C.uint64_t) {
	check("gasnet_wait_syncnb", context(self).Wait(extended.Event(ev)))
}

// aqTry polls and tests, as the calls of GASNet-1 do.
//
//export aqTry
func aqTry(self C.int, ev C.uint64_t) C.int {
	const call = "gasnet_try_syncnb"
	c := context(self)
	check(call, c.Poll())
	done, err := c.Test(extended.Event(ev))
	check(call, err)
	return ready(done)
}

//export aqWaitAll
func aqWaitAll(self C.int, list *C.uint64_t, n C.size_t) {
	check("gasnet_wait_syncnb_all", context(self).WaitAll(events(list, n)))
}

//export aqTryAll
func aqTryAll(self C.int, list *C.uint64_t, n C.size_t) C.int {
	const call = "gasnet_try_syncnb_all"
	c := context(self)
	check(call, c.Poll())
	done, err := c.TestAll(events(list, n))
	check(call, err)
	return ready(done)
}

//export aqWaitSome
func aqWaitSome(self C.int, list *C.uint64_t, n C.size_t) {
	check("gasnet_wait_syncnb_some", context(self).WaitSome(events(list, n)))
}

//export aqTrySome
func aqTrySome(self C.int, list *C.uint64_t, n C.size_t) C.int {
	const call = "gasnet_try_syncnb_some"
	c := context(self)
	check(call, c.Poll())
	done, err := c.TestSome(events(list, n))
	check(call, err)
	return ready(done)
}

// categories returns those of implicit operations that C names by bits.
func categories(which C.int) (k extended.Category) {
	if which&C.GASNETI_PUTS != 0 {
		k |= extended.Puts
	}
	if which&C.GASNETI_GETS != 0 {
		k |= extended.Gets
	}
	return k
}

//export aqWaitNBI
func aqWaitNBI(self, which C.int) {
	check("gasnet_wait_syncnbi", context(self).WaitNBI(categories(which)))
}

//export aqTryNBI
func aqTryNBI(self, which C.int) C.int {
	const call = "gasnet_try_syncnbi"
	c := context(self)
	check(call, c.Poll())
	done, err := c.TestNBI(categories(which))
	check(call, err)
	return ready(done)
}

//export aqBeginRegion
func aqBeginRegion(self C.int) {
	check("gasnet_begin_nbi_accessregion", context(self).BeginRegion())
}

//export aqEndRegion
func aqEndRegion(self C.int) C.uint64_t {
	ev, err := context(self).EndRegion()
	check("gasnet_end_nbi_accessregion", err)
	return C.uint64_t(ev)
}
