package cpu

// hasCycles reports whether the counter runs at one rate, whatever the processor does to save
// power (CPUID 8000_0007h, EDX bit 8; AMD64 Architecture Programmer's Manual, volume 3).
var hasCycles = func() bool { _, edx := extended(0x80000007); return edx&(1<<8) != 0 }()

// HasCycles reports whether Cycles counts, at one rate.
func HasCycles() bool { return hasCycles }

// Cycles returns a counter that runs at one rate of some GHz (RDTSC), if HasCycles; each
// processor has one, and what is read on different ones need not fit together. It takes some 20
// cycles, a third of what the time of the system takes.
func Cycles() uint64
