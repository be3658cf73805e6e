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
	c := context(self)
	off, err := place(dest, to, size)
	switch {
	case err != nil:
	case async != 0:
		err = c.RequestLongAsync(core.Rank(dest), core.HandlerIndex(h), data, off, arguments(args, n)...)
	default:
		err = c.RequestLong(core.Rank(dest), core.HandlerIndex(h), data, off, arguments(args, n)...)
	}
	return code("gasnet_AMRequestLong", err)
}

// place returns the offset that an address stands for in rank's segment, as the destination of a Long with size bytes. That of one
// without a payload a program may leave to chance. A rank that is none, and one without a segment, are refused by the call itself.
func place(rank C.gasnet_node_t, to unsafe.Pointer, size C.size_t) (uint64, error) {
	off := offset(rank, to)
	if int64(rank) >= int64(len(bases)) {
		return off, nil
	}
	room := uint64(endpoint.SegmentSize(core.Rank(rank)))
	switch {
	case size == 0 && off > room:
		return 0, nil
	case off > room || uint64(size) > room-off:
		return 0, leaves(rank, to, uint64(size))
	}
	return off, nil
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
		var off uint64
		if off, err = place(C.gasnet_node_t(running.Src()), to, size); err == nil {
			err = running.ReplyLong(core.HandlerIndex(h), data, off, arguments(args, n)...)
		}
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
