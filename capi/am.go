package main

// #include "internal.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// code returns what a call of active messages returns for err. A misuse has a code; the end of the job ends the process.
func code(call string, err error) C.int {
	if err == nil {
		return C.GASNET_OK
	}
	var misuse *core.UsageError
	if errors.As(err, &misuse) || errors.Is(err, errMemory) {
		return C.GASNET_ERR_BAD_ARG
	}
	end(call, err)
	return C.GASNET_ERR_RESOURCE
}

// arguments returns a message's arguments.
func arguments(args *C.uint32_t, n C.int) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(args)), n)
}

//export aqRequestShort
func aqRequestShort(self C.int, dest C.gasnet_node_t, h C.gasnet_handler_t, n C.int, args *C.uint32_t) C.int {
	err := context(self).RequestShort(core.Rank(dest), core.HandlerIndex(h), arguments(args, n)...)
	return code("gasnet_AMRequestShort", err)
}

//export aqRequestMedium
func aqRequestMedium(self C.int, dest C.gasnet_node_t, h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, n C.int, args *C.uint32_t) C.int {
	data, err := memory(src, size)
	if err == nil {
		err = context(self).RequestMedium(core.Rank(dest), core.HandlerIndex(h), data, arguments(args, n)...)
	}
	return code("gasnet_AMRequestMedium", err)
}

//export aqRequestLong
func aqRequestLong(self C.int, dest C.gasnet_node_t, h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, to unsafe.Pointer, async C.int, n C.int, args *C.uint32_t) C.int {
	data, err := memory(src, size)
	if err != nil {
		return code("gasnet_AMRequestLong", err)
	}
	c, off := context(self), offset(dest, to)
	if size == 0 {
		off = longOf(off, core.Rank(dest))
	}
	if async != 0 {
		err = c.RequestLongAsync(core.Rank(dest), core.HandlerIndex(h), data, off, arguments(args, n)...)
	} else {
		err = c.RequestLong(core.Rank(dest), core.HandlerIndex(h), data, off, arguments(args, n)...)
	}
	return code("gasnet_AMRequestLong", err)
}

// longOf returns the offset of a Long without a payload, whose destination a program may leave to chance.
func longOf(off uint64, rank core.Rank) uint64 {
	if off > uint64(endpoint.SegmentSize(rank)) {
		return 0
	}
	return off
}

//export aqReplyShort
func aqReplyShort(h C.gasnet_handler_t, n C.int, args *C.uint32_t) C.int {
	return code("gasnet_AMReplyShort", running.ReplyShort(core.HandlerIndex(h), arguments(args, n)...))
}

//export aqReplyMedium
func aqReplyMedium(h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, n C.int, args *C.uint32_t) C.int {
	data, err := memory(src, size)
	if err == nil {
		err = running.ReplyMedium(core.HandlerIndex(h), data, arguments(args, n)...)
	}
	return code("gasnet_AMReplyMedium", err)
}

//export aqReplyLong
func aqReplyLong(h C.gasnet_handler_t, src unsafe.Pointer, size C.size_t, to unsafe.Pointer, n C.int, args *C.uint32_t) C.int {
	data, err := memory(src, size)
	if err == nil {
		source := running.Src()
		off := offset(C.gasnet_node_t(source), to)
		if size == 0 {
			off = longOf(off, source)
		}
		err = running.ReplyLong(core.HandlerIndex(h), data, off, arguments(args, n)...)
	}
	return code("gasnet_AMReplyLong", err)
}

// aqPoll polls once (gasnet_AMPoll).
//
//export aqPoll
func aqPoll(self C.int) C.int { return code("gasnet_AMPoll", context(self).Poll()) }

// aqTurns begins a GASNET_BLOCKUNTIL, whose loop is the program's.
//
//export aqTurns
func aqTurns(self C.int) {
	t := of(self)
	t.turns = t.Turns("GASNET_BLOCKUNTIL")
}

// aqTurn is one turn of it, the first if begin is not 0.
//
//export aqTurn
func aqTurn(self, begin C.int) {
	if begin != 0 {
		aqTurns(self)
	}
	check("GASNET_BLOCKUNTIL", of(self).turns.Next())
}
