package cpu

import "unsafe"

// Pause tells the processor that this is a spinning loop (PAUSE), which saves power and
// leaves the core to its other thread. It takes some 10 to 150 cycles.
func Pause()

// Prefetch asks the processor to fetch the cache line of p for reading; p may be any
// address.
func Prefetch(p unsafe.Pointer)

// PrefetchW asks the processor to fetch the cache line of p for writing (PREFETCHW), where
// it can: for a producer that will soon fill a line which a consumer's core still holds. p
// may be any address.
func PrefetchW(p unsafe.Pointer)

// hasPrefetchW reports whether there is PREFETCHW (CPUID 8000_0001h, ECX bit 8; AMD64
// Architecture Programmer's Manual, volume 3).
var hasPrefetchW = func() bool { ecx, _ := extended(0x80000001); return ecx&(1<<8) != 0 }()

// extended returns ECX and EDX of an extended CPUID leaf, 0 if the processor lacks the leaf.
func extended(leaf uint32) (ecx, edx uint32)

// Goroutine returns a number that identifies the calling goroutine among those that live:
// the address of its descriptor in the Go runtime. A later goroutine may have the number of
// one that has ended.
func Goroutine() uintptr

// PrefetchLines asks the processor to fetch n cache lines, at least one, from that of p on,
// for reading; p may be any address, and need not be one of Go's memory any more.
func PrefetchLines(p uintptr, n int)
