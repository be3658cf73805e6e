//go:build !amd64 || race

package shm

import "sync/atomic"

// swapByte replaces one byte of a word without disturbing its neighbours, which other
// processes may be storing at the same time.
func swapByte(p *uint8, v uint8) uint8 {
	w, shift := word(p)
	for {
		old := atomic.LoadUint32(w)
		if atomic.CompareAndSwapUint32(w, old, old&^(0xff<<shift)|uint32(v)<<shift) {
			return uint8(old >> shift)
		}
	}
}
