package main

// #include "coll.h"
import "C"

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended"
)

// move begins to move the data of a call: between the ranks of the team, and when that is complete, by finish, between
// the images of this rank, if it has several. Blocks of a rank's images lie together then, in the order of images.
func (k *collective) move(c *extended.Context) (extended.Event, error) {
	t, size := k.team, int(k.size)
	all := size * t.total()
	root, index := t.member(int(k.root))
	here := root == t.Rank()
	switch k.op {
	case C.GASNETI_BROADCAST:
		k.finish = func() { k.copies(size) }
		return t.BroadcastNB(c, root, k.bytes(k.dst[0], size), k.only(here, k.src, index, size))
	case C.GASNETI_SCATTER:
		src := k.only(here, k.src, index, all)
		if t.even() {
			return t.ScatterNB(c, root, k.bytes(k.dst[0], size), src)
		}
		dst := k.together(k.dst, size)
		k.finish = func() { k.deal(dst, size) }
		return t.ScatterVNB(c, root, dst, src, t.shares(size))
	case C.GASNETI_GATHER:
		dst := k.only(here, k.dst, index, all)
		if t.even() {
			return t.GatherNB(c, root, dst, k.bytes(k.src[0], size))
		}
		return t.GatherVNB(c, root, dst, t.shares(size), k.collect(size))
	case C.GASNETI_GATHER_ALL:
		dst := k.bytes(k.dst[0], all)
		k.finish = func() { k.copies(all) }
		if t.even() {
			return t.AllGatherNB(c, dst, k.bytes(k.src[0], size))
		}
		return t.AllGatherVNB(c, dst, t.shares(size), k.collect(size))
	case C.GASNETI_EXCHANGE:
		if t.even() {
			return t.AllToAllNB(c, k.bytes(k.dst[0], all), k.bytes(k.src[0], all))
		}
		return k.exchange(c)
	case C.GASNETI_REDUCE:
		n := size * int(k.count)
		return t.ReduceNB(c, root, k.only(here, k.dst, index, n), k.fold(n), k.reduction())
	case C.GASNETI_SCAN:
		return k.scan(c)
	}
	return t.BarrierNB(c) // gasnet_coll_init
}

// bytes returns n bytes of the program's memory.
func (k *collective) bytes(p C.uintptr_t, n int) []byte {
	b, err := memory(pointer(p), C.size_t(n))
	k.check(err)
	return b
}

// only returns n bytes of one of this rank's images, if it is here.
func (k *collective) only(here bool, of []C.uintptr_t, i, n int) []byte {
	if !here {
		return nil
	}
	return k.bytes(of[i], n)
}

// copies copies n bytes of the first image to the others.
func (k *collective) copies(n int) {
	for _, p := range k.dst[1:] {
		copy(k.bytes(p, n), k.bytes(k.dst[0], n))
	}
}

// together returns room for a block of each image: the image's own, if there is one.
func (k *collective) together(of []C.uintptr_t, size int) []byte {
	if len(of) == 1 {
		return k.bytes(of[0], size)
	}
	return make([]byte, size*len(of))
}

// collect returns the sources of this rank's images, one after the other.
func (k *collective) collect(size int) []byte {
	b := k.together(k.src, size)
	if len(k.src) > 1 {
		for i, p := range k.src {
			copy(b[i*size:], k.bytes(p, size))
		}
	}
	return b
}

// deal copies a block to each image.
func (k *collective) deal(blocks []byte, size int) {
	if len(k.dst) > 1 {
		for i, p := range k.dst {
			copy(k.bytes(p, size), blocks[i*size:])
		}
	}
}

// exchange is the exchange of ranks that have several images: to a rank go, for each image here, the blocks for that rank's
// images, one after the other.
func (k *collective) exchange(c *extended.Context) (extended.Event, error) {
	t, size := k.team, int(k.size)
	all, own := size*t.total(), t.own()
	var out []byte
	lens := make([]int, t.Size())
	for r, n := range t.images {
		lens[r] = n * own
		for _, p := range k.src {
			out = append(out, k.bytes(p, all)[t.first[r]*size:][:n*size]...)
		}
	}
	in := make([]byte, len(out))
	k.finish = func() {
		blocks := in
		for r, n := range t.images {
			for i := range n {
				for j := range own {
					copy(k.bytes(k.dst[j], all)[(t.first[r]+i)*size:][:size], blocks)
					blocks = blocks[size:]
				}
			}
		}
	}
	return t.AllToAllVNB(c, in, extended.Blocks{Lens: lens, Unit: size}, out, extended.Blocks{Lens: lens, Unit: size})
}

// reduction returns how elements are combined.
func (k *collective) reduction() extended.Reduction {
	fn := collectives.fns[k.fn]
	return extended.Reduction{Func: k.combine, Size: int(k.size), Ordered: fn.flags&C.GASNET_COLL_NONCOMM != 0}
}

// combine combines elements by the program's function: dst becomes dst op src.
func (k *collective) combine(dst, src []byte) {
	C.gasneti_coll_combine(collectives.fns[k.fn].fnptr, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)),
		C.size_t(len(dst))/k.size, k.size, k.flags, k.arg)
}

// fold returns what the n bytes of the sources of this rank's images have together.
func (k *collective) fold(n int) []byte {
	b := k.bytes(k.src[0], n)
	if len(k.src) > 1 {
		b = append([]byte(nil), b...)
		for _, p := range k.src[1:] {
			k.combine(b, k.bytes(p, n))
		}
	}
	return b
}

// scan begins a scan. Ranks with several images find out what those of the ranks before have together.
func (k *collective) scan(c *extended.Context) (extended.Event, error) {
	t, n := k.team, int(k.size)*int(k.count)
	exclusive := k.flag(C.GASNET_COLL_EXCLUSIVE_SCAN)
	switch {
	case t.even() && exclusive:
		return t.ExScanNB(c, k.bytes(k.dst[0], n), k.bytes(k.src[0], n), k.reduction())
	case t.even():
		return t.ScanNB(c, k.bytes(k.dst[0], n), k.bytes(k.src[0], n), k.reduction())
	}
	before := make([]byte, n)
	k.finish = func() {
		some := t.Rank() > 0 // before holds something
		for i, p := range k.src {
			upTo := append([]byte(nil), k.bytes(p, n)...)
			if some {
				upTo = append(upTo[:0], before...)
				k.combine(upTo, k.bytes(p, n))
			}
			switch {
			case !exclusive:
				copy(k.bytes(k.dst[i], n), upTo)
			case some:
				copy(k.bytes(k.dst[i], n), before)
			}
			before, some = upTo, true
		}
	}
	return t.ExScanNB(c, before, k.fold(n), k.reduction())
}
