package main

// #include "ex.h"
import "C"

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// domains are the program's.
var domains numbered[extended.Domain]

//export aqExDomain
func aqExDomain(self, team C.int, dt C.gex_DT_t, ops C.gex_OP_t) C.int {
	d, err := extended.NewDomain(context(self), teams.at(team), extended.Type(dt), extended.Op(ops))
	check("gex_AD_Create", err)
	return domains.add(d)
}

//export aqExDomainFree
func aqExDomainFree(self, number C.int) {
	check("gex_AD_Destroy", domains.at(number).Free(context(self)))
	domains.remove(number)
}

// aqExAtomic is all forms of atomic operations. It returns the event of an explicit one. The owner of the element is named by its rank in the
// domain's team and in the job.
//
//export aqExAtomic
func aqExAtomic(self, form C.int, call *C.char, number C.int, result unsafe.Pointer, rank C.gex_Rank_t, owner C.gasnet_node_t, addr unsafe.Pointer, op C.gex_OP_t, a, b C.uint64_t, flags C.gex_Flags_t) C.uint64_t {
	d, c := domains.at(number), context(self)
	o, off := extended.Op(op), offset(owner, addr)
	var dst []byte
	var err error
	if o.Fetching() {
		dst, err = memory(result, C.size_t(d.Type().Size()))
	}
	member := int(rank)
	if rank == C.GASNETI_NO_MEMBER {
		member = extended.Outsider(core.Rank(owner))
	}
	var ev extended.Event
	switch {
	case err != nil:
	case form == explicit:
		ev, err = d.DoNB(c, dst, member, off, o, uint64(a), uint64(b), order(flags))
	default:
		err = d.DoNBI(c, dst, member, off, o, uint64(a), uint64(b), order(flags))
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	return C.uint64_t(ev)
}

// order returns what an atomic operation orders, of what C names by flags.
func order(flags C.gex_Flags_t) (o extended.Order) {
	if flags&C.GEX_FLAG_AD_ACQ != 0 {
		o |= extended.Acquire
	}
	if flags&C.GEX_FLAG_AD_REL != 0 {
		o |= extended.Release
	}
	return o
}
