package shm

import "sync/atomic"

// Load64 is an acquire load: what was stored before the value seen is seen too.
func Load64(p *uint64) uint64 { return atomic.LoadUint64(p) }

// Load32 is an acquire load: what was stored before the value seen is seen too.
func Load32(p *uint32) uint32 { return atomic.LoadUint32(p) }

// Load8 is an acquire load of a byte. It loads the aligned 32-bit word around the byte
// (which lies in the same page), since Go has no atomic byte. A loop may poll with it.
func Load8(p *uint8) uint8 {
	w, shift := word(p)
	return uint8(atomic.LoadUint32(w) >> shift)
}

// Swap64 stores v and returns the old value. It is a full barrier: the store is seen
// before any later load is done.
func Swap64(p *uint64, v uint64) uint64 { return atomic.SwapUint64(p, v) }

// Swap32 stores v and returns the old value. It is a full barrier: the store is seen
// before any later load is done.
func Swap32(p *uint32, v uint32) uint32 { return atomic.SwapUint32(p, v) }
