package main

// #include "ex.h"
import "C"

import "github.com/aqueduct-go/aqueduct/extended"

// How a list of events is synchronised, as in C.
const someEvents = 1

//export aqExTest
func aqExTest(self C.int, ev C.uint64_t) C.int {
	done, err := context(self).Test(extended.Event(ev))
	check("gex_Event_Test", err)
	return ready(done)
}

//export aqExWait
func aqExWait(self C.int, ev C.uint64_t) {
	check("gex_Event_Wait", context(self).Wait(extended.Event(ev)))
}

//export aqExTestList
func aqExTestList(self C.int, list *C.uint64_t, n C.size_t, how C.int) C.int {
	call, test := "gex_Event_TestAll", context(self).TestAll
	if how == someEvents {
		call, test = "gex_Event_TestSome", context(self).TestSome
	}
	done, err := test(events(list, n))
	check(call, err)
	return ready(done)
}

//export aqExWaitList
func aqExWaitList(self C.int, list *C.uint64_t, n C.size_t, how C.int) {
	if how == someEvents {
		check("gex_Event_WaitSome", context(self).WaitSome(events(list, n)))
	} else {
		check("gex_Event_WaitAll", context(self).WaitAll(events(list, n)))
	}
}

//export aqExLeaf
func aqExLeaf(ev C.uint64_t) C.uint64_t { return C.uint64_t(endpoint.Leaf(extended.Event(ev))) }

// implicit returns the categories of implicit operations of the library that C's stand for. Of GEX_EC_AM none is ever under way.
func implicit(mask C.gex_EC_t) extended.Category { return extended.Category(mask) & extended.All }

//export aqExTestNBI
func aqExTestNBI(self C.int, mask C.gex_EC_t) C.int {
	k := implicit(mask)
	if k == 0 {
		return C.GASNET_OK
	}
	done, err := context(self).TestNBI(k)
	check("gex_NBI_Test", err)
	return ready(done)
}

//export aqExWaitNBI
func aqExWaitNBI(self C.int, mask C.gex_EC_t) {
	if k := implicit(mask); k != 0 {
		check("gex_NBI_Wait", context(self).WaitNBI(k))
	}
}

//export aqExBeginRegion
func aqExBeginRegion(self C.int) {
	check("gex_NBI_BeginAccessRegion", context(self).BeginRegion())
}

//export aqExEndRegion
func aqExEndRegion(self C.int) C.uint64_t {
	ev, err := context(self).EndRegion()
	check("gex_NBI_EndAccessRegion", err)
	return C.uint64_t(ev)
}
