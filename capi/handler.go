package main

// #include "internal.h"
// #cgo noescape gasneti_dispatch
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// running is the token of the handler that runs, nil if none does. A rank runs one handler at a time.
var running *core.Token

// runner returns the handler of a client's function.
func runner(fn C.gasneti_fn_t) core.Handler {
	return func(t *core.Token, args []uint32, data []byte) {
		running = t
		payload, buf := C.int(1), unsafe.Pointer(unsafe.SliceData(data))
		switch t.Kind() {
		case core.Short:
			payload, buf = 0, nil
		case core.Long:
			buf = unsafe.Add(segmentBase(), t.Offset())
		}
		C.gasneti_dispatch(fn, C.gasnet_node_t(t.Src()), C.int(len(args)), (*C.uint32_t)(unsafe.SliceData(args)), payload, buf, C.size_t(len(data)))
		running = nil
	}
}

// registerTable registers a table of GASNet-1: entries with index 0 get the lowest free index, upwards in the order of the
// table, and it is written back.
func registerTable(table unsafe.Pointer, n int) error {
	entries := unsafe.Slice((*C.gasnet_handlerentry_t)(table), n)
	var taken [256]bool
	for i := range entries {
		e := &entries[i]
		switch {
		case e.index == 0:
			continue
		case core.HandlerIndex(e.index) < core.ClientHandlers:
			return fmt.Errorf("entry %d of the handler table has index %d; a client has %d to 255, and 0 for any", i, e.index, core.ClientHandlers)
		case taken[e.index]:
			return fmt.Errorf("entry %d of the handler table has index %d, which another one has too", i, e.index)
		}
		taken[e.index] = true
	}
	list := make([]core.HandlerEntry, n)
	next := int(core.ClientHandlers)
	for i := range entries {
		e := &entries[i]
		fn := C.gasneti_fn_t(unsafe.Pointer(e.fnptr))
		if fn == nil {
			return fmt.Errorf("entry %d of the handler table has no function", i)
		}
		if e.index == 0 {
			for next < len(taken) && taken[next] {
				next++
			}
			if next == len(taken) {
				return fmt.Errorf("entry %d of the handler table finds no index: %d to 255 are taken", i, core.ClientHandlers)
			}
			taken[next] = true
			e.index = C.gasnet_handler_t(next)
		}
		C.gasneti_handlers[e.index] = fn
		list[i] = core.HandlerEntry{Index: core.HandlerIndex(e.index), Func: runner(fn)}
	}
	return endpoint.RegisterHandlers(list)
}
