package main

// #include "internal.h"
import "C"

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// pieces is room for what a vector or indexed transfer of a thread names, which is read before the call returns.
type pieces struct {
	far, near         []extended.Extent
	farOffs, nearOffs []uint64
}

// list returns what C lists, whose address is not looked at if it is empty.
func list[T any](p unsafe.Pointer, n C.size_t) ([]T, error) {
	switch {
	case n == 0:
		return nil, nil
	case p == nil || n > maxMemory:
		return nil, errors.New("a list is NULL, or longer than any memory")
	}
	return unsafe.Slice((*T)(p), n), nil
}

// memvec is a gasnet_memvec_t.
type memvec struct {
	addr C.uintptr_t
	len  C.size_t
}

// span is the memory of the program from the first to the last byte of some pieces. Only the pieces themselves are touched.
type span struct {
	first, last C.uintptr_t
}

// add has the span hold n bytes more, which are not none.
func (s *span) add(at C.uintptr_t, n C.size_t) error {
	if at == 0 || n > maxMemory || at > maxMemory {
		return errMemory
	}
	if s.last == 0 || at < s.first {
		s.first = at
	}
	s.last = max(s.last, at+C.uintptr_t(n)-1)
	return nil
}

// bytes returns the span's memory, and offset where in it an address is.
func (s *span) bytes() []byte {
	if s.last == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(s.first)), s.last-s.first+1)
}

func (s *span) offset(p C.uintptr_t) uint64 { return uint64(p - s.first) }

// Lists of pieces of rank's segment, by the addresses that its owner knows.
func farExtents(room []extended.Extent, rank C.gasnet_node_t, from []memvec) []extended.Extent {
	room = room[:0]
	for _, v := range from {
		room = append(room, extended.Extent{Off: offsetOf(rank, v.addr), Len: int(min(v.len, maxMemory))})
	}
	return room
}

func farOffsets(room []uint64, rank C.gasnet_node_t, from []C.uintptr_t) []uint64 {
	room = room[:0]
	for _, p := range from {
		room = append(room, offsetOf(rank, p))
	}
	return room
}

// Lists of pieces of the program's own memory.
func nearExtents(room []extended.Extent, from []memvec) ([]extended.Extent, []byte, error) {
	var s span
	for _, v := range from {
		if v.len > 0 {
			if err := s.add(v.addr, v.len); err != nil {
				return room, nil, err
			}
		}
	}
	room = room[:0]
	for _, v := range from {
		room = append(room, extended.Extent{Off: s.offset(v.addr), Len: int(v.len)})
	}
	return room, s.bytes(), nil
}

func nearOffsets(room []uint64, from []C.uintptr_t, size C.size_t) ([]uint64, []byte, error) {
	var s span
	if size > 0 {
		for _, p := range from {
			if err := s.add(p, size); err != nil {
				return room, nil, err
			}
		}
	}
	room = room[:0]
	for _, p := range from {
		room = append(room, s.offset(p))
	}
	return room, s.bytes(), nil
}

// aqVector is all forms of vector transfers.
//
//export aqVector
func aqVector(self, form, get, local C.int, call *C.char, node C.gasnet_node_t, nfar C.size_t, far unsafe.Pointer, nnear C.size_t, near unsafe.Pointer) C.uint64_t {
	t, rank := of(self), core.Rank(node)
	fars, err := list[memvec](far, nfar)
	nears, err2 := list[memvec](near, nnear)
	if err = errors.Join(err, err2); err != nil {
		end(C.GoString(call), err)
	}
	p := &t.pieces
	p.far = farExtents(p.far, node, fars)
	var buf []byte
	if p.near, buf, err = nearExtents(p.near, nears); err != nil {
		end(C.GoString(call), err)
	}
	var ev extended.Event
	switch {
	case get != 0 && form == blocking:
		err = t.GetVector(buf, p.near, rank, p.far)
	case get != 0 && form == explicit:
		ev, err = t.GetVectorNB(buf, p.near, rank, p.far)
	case get != 0:
		err = t.GetVectorNBI(buf, p.near, rank, p.far)
	case form == blocking:
		err = t.PutVector(rank, p.far, buf, p.near)
	case form == explicit:
		ev, err = t.PutVectorNB(rank, p.far, buf, p.near, extended.LocalCompletion(local))
	default:
		err = t.PutVectorNBI(rank, p.far, buf, p.near, extended.LocalCompletion(local))
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	return C.uint64_t(ev)
}

// aqIndexed is all forms of indexed transfers.
//
//export aqIndexed
func aqIndexed(self, form, get, local C.int, call *C.char, node C.gasnet_node_t, nfar C.size_t, far unsafe.Pointer, farLen, nnear C.size_t, near unsafe.Pointer, nearLen C.size_t) C.uint64_t {
	t, rank := of(self), core.Rank(node)
	fars, err := list[C.uintptr_t](far, nfar)
	nears, err2 := list[C.uintptr_t](near, nnear)
	if err = errors.Join(err, err2); err != nil {
		end(C.GoString(call), err)
	}
	p := &t.pieces
	p.farOffs = farOffsets(p.farOffs, node, fars)
	var buf []byte
	if p.nearOffs, buf, err = nearOffsets(p.nearOffs, nears, nearLen); err != nil {
		end(C.GoString(call), err)
	}
	there := extended.Chunks{Offs: p.farOffs, Len: int(min(farLen, maxMemory))}
	here := extended.Chunks{Offs: p.nearOffs, Len: int(min(nearLen, maxMemory))}
	var ev extended.Event
	switch {
	case get != 0 && form == blocking:
		err = t.GetIndexed(buf, here, rank, there)
	case get != 0 && form == explicit:
		ev, err = t.GetIndexedNB(buf, here, rank, there)
	case get != 0:
		err = t.GetIndexedNBI(buf, here, rank, there)
	case form == blocking:
		err = t.PutIndexed(rank, there, buf, here)
	case form == explicit:
		ev, err = t.PutIndexedNB(rank, there, buf, here, extended.LocalCompletion(local))
	default:
		err = t.PutIndexedNBI(rank, there, buf, here, extended.LocalCompletion(local))
	}
	if err != nil {
		end(C.GoString(call), err)
	}
	return C.uint64_t(ev)
}

// sizes returns a list of sizes.
func sizes(p *C.size_t, n C.size_t) ([]int, error) { return list[int](unsafe.Pointer(p), n) }

// section returns the memory of a section of the program's own, nil if that has no elements.
func section(p unsafe.Pointer, strides []int, elem int, counts []int) ([]byte, error) {
	size := uint64(elem)
	for i, n := range counts {
		if n == 0 || elem == 0 {
			return nil, nil
		}
		over, reach := bits.Mul64(uint64(n-1), uint64(strides[i]))
		if size += reach; over != 0 || reach > maxMemory || size > maxMemory {
			return nil, errMemory
		}
	}
	return memory(p, C.size_t(size))
}

// aqStrided is all forms of strided transfers.
//
//export aqStrided
func aqStrided(self, form, get C.int, call *C.char, node C.gasnet_node_t, far unsafe.Pointer, farStrides *C.size_t, near unsafe.Pointer, nearStrides, count *C.size_t, levels C.size_t) C.uint64_t {
	c, rank := context(self), core.Rank(node)
	counts, err := sizes(count, levels+1)
	fars, err2 := sizes(farStrides, levels)
	nears, err3 := sizes(nearStrides, levels)
	if err = errors.Join(err, err2, err3); err != nil || len(counts) == 0 {
		end(C.GoString(call), errors.Join(err, errors.New("there is no count")))
	}
	elem, counts := counts[0], counts[1:]
	buf, err := section(near, nears, elem, counts)
	if err != nil {
		end(C.GoString(call), err)
	}
	there, here := extended.Section{Off: offset(node, far), Strides: fars}, extended.Section{Strides: nears}
	ev, err := strided(c, form, get, extended.LCDefer, rank, there, buf, here, elem, counts)
	if err != nil {
		end(C.GoString(call), err)
	}
	return C.uint64_t(ev)
}

// strided is all forms of strided transfers, between a section of rank's segment and one of the program's memory.
func strided(c *extended.Context, form, get C.int, lc extended.LocalCompletion, rank core.Rank, there extended.Section, buf []byte, here extended.Section, elem int, counts []int) (ev extended.Event, err error) {
	switch {
	case get != 0 && form == blocking:
		err = c.GetStrided(buf, here, rank, there, elem, counts)
	case get != 0 && form == explicit:
		ev, err = c.GetStridedNB(buf, here, rank, there, elem, counts)
	case get != 0:
		err = c.GetStridedNBI(buf, here, rank, there, elem, counts)
	case form == blocking:
		err = c.PutStrided(rank, there, buf, here, elem, counts)
	case form == explicit:
		ev, err = c.PutStridedNB(rank, there, buf, here, elem, counts, lc)
	default:
		err = c.PutStridedNBI(rank, there, buf, here, elem, counts, lc)
	}
	return ev, err
}
