// Package shm is the only way in which this project publishes to and observes memory
// that is shared between processes: stores that publish, loads that observe, the
// descriptors such memory lives behind, and what a waiter needs to sleep without losing
// a wake-up.
//
// # Publishing
//
// A message is written with ordinary stores and then published by one store to a flag
// that the receiver polls. Two orders matter:
//
//   - Release and acquire: whoever sees the flag sees everything stored before it. On
//     amd64 (x86-TSO: Sewell et al., "x86-TSO: A Rigorous and Usable Programmer's Model",
//     CACM 2010) stores become visible in program order and loads are not reordered with
//     loads, so a plain MOV is a release store and a plain MOV is an acquire load. The
//     only thing to prevent is a compiler that moves an ordinary access across the flag.
//     Store8, Store32 and Store64 are assembly functions, across which the Go compiler
//     moves nothing; the loads are those of sync/atomic, which compile to a MOV.
//     atomic.Store would do as well but compiles to XCHG, which waits until the store
//     buffer has drained, and in a stream of messages that wait is most of the cost.
//   - Store before load: "raise my flag, then look at yours" (Dekker's pattern) goes wrong
//     with plain stores, because the store may still sit in the store buffer when the
//     load is done. Where one side's store must be seen before its own later load, use
//     Swap8, Swap32 or Swap64 (XCHG, a full barrier), or put a [Fence] after the store.
//     Both sides of the pattern need the barrier. A side that acts rarely can issue it
//     for both: [Membarrier] makes every thread of every registered process execute one,
//     so that the busy side keeps its plain store. [Biased] is a lock made of this.
//
// On other architectures, and on every architecture under the race detector, the stores
// are those of sync/atomic. These are sequentially consistent, so every order above holds
// and Fence only repeats it.
//
// # The race detector
//
// The detector watches the Go heap, not mappings. With build tag race a [Local] region
// is Go memory, every function here is a sync/atomic operation that the detector knows,
// and byte operations act on the aligned word that contains the byte; so between ranks
// that are goroutines it checks the protocol itself, and reports a slot that is written
// after its flag. [RaceEnabled] says whether this is such a build.
//
// # Sleeping
//
// [EventCount] lets goroutines and processes sleep until something in shared memory has
// changed. A bell ([NewBell]) is a descriptor that a sleeper in poll or select can wait
// for together with others.
package shm
