package main

// #include <stdlib.h>
// #include "internal.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// windows are what C reaches segments by, by rank; without a size where it does not.
func windows(n int) []C.gasneti_window_t {
	w := unsafe.Slice((*C.gasneti_window_t)(C.calloc(C.size_t(n), C.sizeof_gasneti_window_t)), n)
	C.gasneti_windows = unsafe.SliceData(w)
	return w
}

// bases are the addresses of all ranks' segments, each in its rank's own address space.
var bases []uint64

// adopted is where memory of the program's begins that is the segment, at a page's boundary; nil: the segment is the library's.
var adopted unsafe.Pointer

// segmentBase returns the address of this rank's segment, as the program knows it.
func segmentBase() unsafe.Pointer {
	if adopted != nil {
		return adopted
	}
	return unsafe.Pointer(unsafe.SliceData(endpoint.Segment()))
}

// adopt makes the pages at own, memory of the program's, those of the segment. Nil changes nothing.
func adopt(own unsafe.Pointer, pages uint64) error {
	if own == nil {
		return nil
	}
	first := unsafe.Add(own, -int(uintptr(own)%C.GASNET_PAGESIZE))
	replace := C.int(1)
	if job.Config().Conduit == "mpi" { // MPI may have told a network where the pages are
		replace = 0
	}
	if errno := C.gasneti_alias(first, unsafe.Pointer(unsafe.SliceData(endpoint.Segment())), C.size_t(pages), replace); errno != 0 {
		return fmt.Errorf("make %d bytes at %p the segment: %w", pages, first, unix.Errno(errno))
	}
	adopted = first
	return nil
}

// publishSegments finds out where all segments lie, and which ranks reach each other's, and tells C. own and size are as for
// attachSegment. Collective.
func publishSegments(c *extended.Context, own unsafe.Pointer, size uint64) error {
	const words = 4 // a rank's pages, the lowest rank of its neighbourhood, and where in the pages its segment lies: its bytes
	if own == nil {
		own = segmentBase()
	}
	var mine [words * 8]byte
	binary.NativeEndian.PutUint64(mine[0:], uint64(uintptr(segmentBase())))
	binary.NativeEndian.PutUint64(mine[8:], uint64(endpoint.Neighborhood()[0]))
	binary.NativeEndian.PutUint64(mine[16:], uint64(uintptr(own)-uintptr(segmentBase())))
	binary.NativeEndian.PutUint64(mine[24:], size)
	all := make([]byte, words*8*job.Size())
	if err := endpoint.World().AllGather(c, all, mine[:]); err != nil {
		return err
	}
	n := job.Size()
	bases = make([]uint64, n)
	segments := unsafe.Slice((*C.gasnet_seginfo_t)(C.calloc(C.size_t(n), C.sizeof_gasnet_seginfo_t)), n)
	nodes := unsafe.Slice((*C.gasnet_nodeinfo_t)(C.calloc(C.size_t(n), C.sizeof_gasnet_nodeinfo_t)), n)
	reached := windows(n)
	supernodes := make(map[uint64]C.gasnet_node_t) // by lowest rank, numbered in that order
	for i := range n {
		r := core.Rank(i)
		card := all[i*words*8:]
		bases[i] = binary.NativeEndian.Uint64(card)
		segments[i].size = C.uintptr_t(binary.NativeEndian.Uint64(card[24:]))
		if segments[i].size > 0 {
			*(*uint64)(unsafe.Pointer(&segments[i].addr)) = bases[i] + binary.NativeEndian.Uint64(card[16:]) // an address of another process
		}
		lowest := binary.NativeEndian.Uint64(card[8:])
		if _, known := supernodes[lowest]; !known {
			supernodes[lowest] = C.gasnet_node_t(len(supernodes))
		}
		nodes[i].host, nodes[i].supernode = C.gasnet_node_t(job.Host(r)), supernodes[lowest]
		if mem := endpoint.Local(r); len(mem) > 0 {
			here := unsafe.SliceData(mem)
			if r == job.Rank() {
				here = (*byte)(segmentBase())
			}
			nodes[i].offset = C.uintptr_t(uint64(uintptr(unsafe.Pointer(here))) - bases[i])
			reached[i] = C.gasneti_window_t{base: C.uintptr_t(bases[i]), size: C.uintptr_t(len(mem)), here: (*C.char)(unsafe.Pointer(here))}
		}
	}
	C.gasneti_job.segments = unsafe.SliceData(segments)
	C.gasneti_job.nodes = unsafe.SliceData(nodes)
	if cfg := job.Config(); cfg.Foreign && !cfg.Debug && !job.Modelled() {
		C.gasneti_window_count = C.gasnet_node_t(n)
	}
	return nil
}

// offset returns where in rank's segment the address lies that its owner knows. What lies outside becomes an offset that
// lies outside, too.
func offset(rank C.gasnet_node_t, addr unsafe.Pointer) uint64 {
	return offsetOf(rank, C.uintptr_t(uintptr(addr)))
}

func offsetOf(rank C.gasnet_node_t, addr C.uintptr_t) uint64 {
	if int64(rank) >= int64(len(bases)) {
		return 0 // the rank is refused
	}
	return uint64(addr) - bases[rank]
}

// leaves is the error of a call for n bytes at an address that do not lie in rank's segment. end says which call.
func leaves(rank C.gasnet_node_t, addr unsafe.Pointer, n uint64) error {
	return &core.UsageError{Rank: job.Rank(), Msg: fmt.Sprintf("%d bytes at %#x lie outside rank %d's segment of %d bytes at %#x",
		n, uintptr(addr), rank, endpoint.SegmentSize(core.Rank(rank)), bases[rank])}
}

// pointer returns an address of the program's as a pointer. Where Go keeps addresses that need not be any it keeps
// numbers.
func pointer(p C.uintptr_t) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// maxMemory bounds the bytes of a buffer: more than a process of this kind has addresses for.
const maxMemory = 1 << 47

// errMemory is the reason that memory refuses a buffer for.
var errMemory = errors.New("the buffer is NULL, or longer than any memory")

// memory returns n bytes of the program's memory. The address of no bytes is not looked at.
func memory(p unsafe.Pointer, n C.size_t) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if p == nil || n > maxMemory {
		return nil, errMemory
	}
	return unsafe.Slice((*byte)(p), n), nil
}
