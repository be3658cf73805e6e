//go:build !race

package shm

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// prefetchW is read by PublishPrefetch.
//
//lint:ignore U1000 only assembly reads it
var prefetchW = cpu.HasPrefetchW

// Store64 publishes: everything stored before is seen by whoever loads v. It is a plain
// MOV, so a later load may be done before the store is seen (see the package comment).
//
//go:noescape
func Store64(p *uint64, v uint64)

// Store32 publishes like Store64.
//
//go:noescape
func Store32(p *uint32, v uint32)

// Store8 publishes like Store64 and leaves the neighbouring bytes alone.
//
//go:noescape
func Store8(p *uint8, v uint8)

// PublishPrefetch is Store64, and then asks the processor to fetch the cache line of next
// for writing (PREFETCHW), where it can. It is for a producer that will soon fill the
// line at next, which the consumer's core still holds; next may be any address.
//
//go:noescape
func PublishPrefetch(p *uint64, v uint64, next unsafe.Pointer)

// Swap8 stores v and returns the old value. It is a full barrier: the store is seen
// before any later load is done.
//
//go:noescape
func Swap8(p *uint8, v uint8) uint8

// Fence orders every store before it ahead of every load after it, as the other
// processors see them.
func Fence()
