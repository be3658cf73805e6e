package main

// #include "internal.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// Forms of a one-sided operation, as C names them.
const (
	blocking = C.GASNETI_BLOCKING
	explicit = C.GASNETI_NB
)

// aqPut is all forms of puts. It returns the event of an explicit one.
//
//export aqPut
func aqPut(self, form C.int, call *C.char, node C.gasnet_node_t, dest, src unsafe.Pointer, n C.size_t, local C.int) C.uint64_t {
	c, to, off := context(self), core.Rank(node), offset(node, dest)
	data, err := memory(src, n)
	lc := extended.LocalCompletion(local)
	var ev extended.Event
	switch {
	case err != nil:
	case form == blocking:
		err = c.Put(to, off, data)
	case form == explicit:
		ev, err = c.PutNB(to, off, data, lc)
	default:
		err = c.PutNBI(to, off, data, lc)
	}
	if err != nil {
		endAccess(call, node, dest, n, err)
	}
	return C.uint64_t(ev)
}

// aqGet is all forms of gets.
//
//export aqGet
func aqGet(self, form C.int, call *C.char, dest unsafe.Pointer, node C.gasnet_node_t, src unsafe.Pointer, n C.size_t) C.uint64_t {
	c, from, off := context(self), core.Rank(node), offset(node, src)
	data, err := memory(dest, n)
	var ev extended.Event
	switch {
	case err != nil:
	case form == blocking:
		err = c.Get(data, from, off)
	case form == explicit:
		ev, err = c.GetNB(data, from, off)
	default:
		err = c.GetNBI(data, from, off)
	}
	if err != nil {
		endAccess(call, node, src, n, err)
	}
	return C.uint64_t(ev)
}

// aqMemset is all forms of memsets.
//
//export aqMemset
func aqMemset(self, form C.int, call *C.char, node C.gasnet_node_t, dest unsafe.Pointer, value C.int, n C.size_t) C.uint64_t {
	c, to, off := context(self), core.Rank(node), offset(node, dest)
	var ev extended.Event
	var err error
	switch {
	case n > maxMemory:
		err = errMemory
	case form == blocking:
		err = c.Memset(to, off, byte(value), int(n))
	case form == explicit:
		ev, err = c.MemsetNB(to, off, byte(value), int(n))
	default:
		err = c.MemsetNBI(to, off, byte(value), int(n))
	}
	if err != nil {
		endAccess(call, node, dest, n, err)
	}
	return C.uint64_t(ev)
}

// aqPutValue is all forms of value puts.
//
//export aqPutValue
func aqPutValue(self, form C.int, call *C.char, node C.gasnet_node_t, dest unsafe.Pointer, value C.uint64_t, n C.size_t) C.uint64_t {
	c, to, off := context(self), core.Rank(node), offset(node, dest)
	size := int(min(n, maxMemory))
	var ev extended.Event
	var err error
	switch form {
	case blocking:
		err = c.PutValue(to, off, uint64(value), size)
	case explicit:
		ev, err = c.PutValueNB(to, off, uint64(value), size)
	default:
		err = c.PutValueNBI(to, off, uint64(value), size)
	}
	if err != nil {
		endAccess(call, node, dest, n, err)
	}
	return C.uint64_t(ev)
}

// aqGetValue is the blocking value get.
//
//export aqGetValue
func aqGetValue(self C.int, call *C.char, node C.gasnet_node_t, src unsafe.Pointer, n C.size_t) C.uint64_t {
	v, err := context(self).GetValue(core.Rank(node), offset(node, src), int(min(n, maxMemory)))
	if err != nil {
		endAccess(call, node, src, n, err)
	}
	return C.uint64_t(v)
}

// endAccess ends the job because an access to n bytes at an address of node's segment has failed.
func endAccess(call *C.char, node C.gasnet_node_t, addr unsafe.Pointer, n C.size_t, err error) {
	name := C.GoString(call)
	var misuse *core.UsageError
	if errors.As(err, &misuse) && int64(node) < int64(len(bases)) {
		size := uint64(endpoint.SegmentSize(core.Rank(node)))
		if off := offset(node, addr); off > size || uint64(n) > size-off {
			err = leaves(node, addr, uint64(n))
		}
	}
	end(name, err)
}
