package main

// #include "ex.h"
import "C"

import (
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// aqExStrided is all forms of strided transfers, of which C has seen that they move something.
//
//export aqExStrided
func aqExStrided(self, form, get, local C.int, call *C.char, node C.gasnet_node_t, far unsafe.Pointer, farStrides *C.ptrdiff_t, near unsafe.Pointer, nearStrides *C.ptrdiff_t, elem C.size_t, count *C.size_t, levels C.size_t) C.uint64_t {
	if elem > maxMemory {
		end(C.GoString(call), errMemory)
	}
	counts := unsafe.Slice((*int)(unsafe.Pointer(count)), levels)
	fars := unsafe.Slice((*int)(unsafe.Pointer(farStrides)), levels)
	nears := unsafe.Slice((*int)(unsafe.Pointer(nearStrides)), levels)
	buf, first, err := signedSection(near, nears, uint64(elem), counts)
	var ev extended.Event
	if err == nil {
		there, here := extended.Section{Off: offset(node, far), Strides: fars}, extended.Section{Off: first, Strides: nears}
		ev, err = strided(context(self), form, get, extended.LocalCompletion(local), core.Rank(node), there, buf, here, int(elem), counts)
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	return C.uint64_t(ev)
}

// signedSection returns the memory that a section of the program's own lies in, with the first element at p, and the offset of p there.
func signedSection(p unsafe.Pointer, strides []int, elem uint64, counts []int) (mem []byte, first uint64, err error) {
	behind := elem // bytes from p to the end
	for i, n := range counts {
		stride, way := uint64(strides[i]), &behind
		if strides[i] < 0 {
			stride, way = -stride, &first
		}
		over, reach := bits.Mul64(uint64(n)-1, stride)
		if *way += reach; over != 0 || reach > maxMemory || *way > maxMemory {
			return nil, 0, errMemory
		}
	}
	if p == nil || first > uint64(uintptr(p)) {
		return nil, 0, errMemory
	}
	mem, err = memory(unsafe.Add(p, -int(first)), C.size_t(first+behind))
	return mem, first, err
}
