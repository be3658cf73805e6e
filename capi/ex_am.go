package main

// #include "ex.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// aqExRegister registers a table of GASNet-EX: entries with index 0 get the highest free index, downwards in the order of the
// table, and it is written back.
//
//export aqExRegister
func aqExRegister(self C.int, table *C.gex_AM_Entry_t, n C.int) C.int {
	entries := unsafe.Slice(table, n)
	list := make([]core.HandlerEntry, n)
	for i := range entries {
		e := &entries[i]
		list[i] = core.HandlerEntry{Index: core.HandlerIndex(e.gex_index), Flags: core.HandlerFlags(e.gex_flags), NArgs: int(e.gex_nargs)}
		if e.gex_name != nil {
			list[i].Name = C.GoString(e.gex_name)
		}
		if fn := C.gasneti_fn_t(unsafe.Pointer(e.gex_fnptr)); fn != nil {
			list[i].Func = runner(fn)
		}
	}
	const call = "gex_EP_RegisterHandlers"
	if err := context(self).RegisterHandlers(list); err != nil {
		result := code(call, err)
		if C.gasneti_ex_verbose != 0 {
			fmt.Fprintf(os.Stderr, "aqueduct: %s: %v\n", call, err)
		}
		return result
	}
	for i := range entries {
		entries[i].gex_index = C.gex_AM_Index_t(list[i].Index)
	}
	return C.GASNET_OK
}

// aqExRequest sends a request, or returns 1 if it may not wait for room, and there is none.
//
//export aqExRequest
func aqExRequest(self C.int, call *C.char, category C.int, dest C.gasnet_node_t, h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, to unsafe.Pointer, flags C.gex_Flags_t, n C.int, args *C.uint32_t) C.int {
	rank := core.Rank(dest)
	data, err := memory(src, size)
	if err == nil {
		m := core.Message{Kind: core.Kind(category), Handler: core.HandlerIndex(h), Data: data, Immediate: flags&C.GEX_FLAG_IMMEDIATE != 0}
		if m.Kind == core.Long {
			m.Off, err = place(dest, to, size)
		}
		if err == nil {
			err = context(self).Request(rank, m, arguments(args, n)...)
		}
	}
	if errors.Is(err, core.ErrNoRoom) {
		return 1
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	return 0
}

// aqExReply sends a reply.
//
//export aqExReply
func aqExReply(call *C.char, category C.int, h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, to unsafe.Pointer, n C.int, args *C.uint32_t) {
	data, err := memory(src, size)
	if err == nil {
		switch core.Kind(category) {
		case core.Short:
			err = running.ReplyShort(core.HandlerIndex(h), arguments(args, n)...)
		case core.Medium:
			err = running.ReplyMedium(core.HandlerIndex(h), data, arguments(args, n)...)
		default:
			var off uint64
			if off, err = place(C.gasnet_node_t(running.Src()), to, size); err == nil {
				err = running.ReplyLong(core.HandlerIndex(h), data, off, arguments(args, n)...)
			}
		}
	}
	if err != nil {
		end(C.GoString(call), err)
	}
}

// aqExHeader tells of the message whose handler runs, but for the number of its arguments.
//
//export aqExHeader
func aqExHeader() C.uint32_t {
	return C.uint32_t(core.MakeHeader(running.Entry().Index, running.Kind(), !running.IsRequest(), 0))
}

// aqExPrepare prepares a message of a form, and says where its payload is to be, and how long it may be. It returns 0 if it may not wait
// for room, and there is none.
//
//export aqExPrepare
func aqExPrepare(self C.int, call *C.char, form C.int, dest C.gasnet_node_t, buf unsafe.Pointer, least, most C.size_t, to unsafe.Pointer, flags C.gex_Flags_t, n C.int, addr *unsafe.Pointer, size *C.size_t) C.int {
	most = min(most, maxMemory)
	o := core.Offer{
		Kind: core.Kind(form &^ C.GASNETI_IS_REQUEST), Least: int(min(least, maxMemory)), Most: int(most), NArgs: int(n),
		Off: core.OffsetLater, Outside: true, Immediate: flags&C.GEX_FLAG_IMMEDIATE != 0,
	}
	var err error
	if to != nil {
		if o.Off, err = place(dest, to, least); err == nil && int64(dest) < int64(len(bases)) {
			o.Most = int(min(uint64(o.Most), uint64(endpoint.SegmentSize(core.Rank(dest)))-o.Off))
		}
	}
	if err == nil && buf != nil {
		o.Buf, err = memory(buf, most)
	}
	var mem []byte
	switch {
	case err != nil:
	case form&C.GASNETI_IS_REQUEST != 0:
		mem, err = context(self).Prepare(core.Rank(dest), o)
	default:
		mem, err = running.Prepare(o)
	}
	if errors.Is(err, core.ErrNoRoom) {
		return 0
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	*addr, *size = unsafe.Pointer(unsafe.SliceData(mem)), C.size_t(len(mem))
	return 1
}

// aqExCommit sends the message that was prepared.
//
//export aqExCommit
func aqExCommit(self C.int, call *C.char, form C.int, dest C.gasnet_node_t, h C.gasnet_handler_t, size C.size_t, to unsafe.Pointer, n C.int, args *C.uint32_t) {
	length := int(min(size, maxMemory))
	off, err := core.OffsetLater, error(nil)
	if form&C.GASNETI_LONG != 0 {
		off, err = place(dest, to, size)
	}
	switch {
	case err != nil:
	case form&C.GASNETI_IS_REQUEST != 0:
		err = context(self).CommitAt(core.HandlerIndex(h), length, off, arguments(args, n)...)
	default:
		err = running.CommitAt(core.HandlerIndex(h), length, off, arguments(args, n)...)
	}
	if err != nil {
		end(C.GoString(call), err)
	}
}

// aqExCancel gives the message up that was prepared.
//
//export aqExCancel
func aqExCancel(self C.int, call *C.char, form C.int) {
	var err error
	if form&C.GASNETI_IS_REQUEST != 0 {
		err = context(self).Cancel()
	} else {
		err = running.Cancel()
	}
	if err != nil {
		end(C.GoString(call), err)
	}
}
