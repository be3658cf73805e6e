//go:build race

package shm

import "sync/atomic"

// Signal32 is an atomic store, so that the race detector sees it.
func Signal32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// Add64 is an atomic addition, so that the race detector sees it.
func Add64(p *uint64, n uint64) { atomic.AddUint64(p, n) }
