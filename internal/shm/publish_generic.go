//go:build !amd64 || race

package shm

import "sync/atomic"

// Store64 publishes: everything stored before is seen by whoever loads v. In this build
// it is sequentially consistent.
func Store64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// Store32 publishes like Store64.
func Store32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// Store8 publishes like Store64 and leaves the neighbouring bytes alone.
func Store8(p *uint8, v uint8) { swapByte(p, v) }

// Publish64 is Store64 in this build.
func Publish64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// Publish32 is Store32 in this build.
func Publish32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// Swap8 stores v and returns the old value. It is a full barrier: the store is seen
// before any later load is done.
func Swap8(p *uint8, v uint8) uint8 { return swapByte(p, v) }

// Fence orders every store before it ahead of every load after it. In this build every
// Store does so already.
func Fence() {
	var x atomic.Uint32
	x.Add(1)
}
