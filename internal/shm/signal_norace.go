//go:build !race

package shm

// Signal32 is a store for the frequent side of a Dekker pattern whose rare side runs
// Membarrier: an ordinary store, which costs nothing and is inlined. The caller follows it
// with an atomic load, before which the compiler does not move it; what the processor does
// is the membarrier's business.
func Signal32(p *uint32, v uint32) { *p = v }

// Add64 adds to a word that has one writer at a time, where others may read it atomically at any time: an ordinary
// addition, which costs nothing and is inlined.
func Add64(p *uint64, n uint64) { *p += n }
