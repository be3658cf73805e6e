//go:build !race

package shm

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

// Publish64 is Store64, inlined, for the one flag of a message on the hot path. It is an
// ordinary store: the compiler keeps stores in program order (in its intermediate form
// each takes the memory state that the one before it left), and amd64 lets the others see
// them in that order.
func Publish64(p *uint64, v uint64) { *p = v }

// Swap8 stores v and returns the old value. It is a full barrier: the store is seen
// before any later load is done.
//
//go:noescape
func Swap8(p *uint8, v uint8) uint8

// Fence orders every store before it ahead of every load after it, as the other
// processors see them.
func Fence()

// Publish32 publishes like Publish64.
func Publish32(p *uint32, v uint32) { *p = v }
