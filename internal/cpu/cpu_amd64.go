package cpu

import (
	"strings"
	"unsafe"
)

// Pause tells the processor that this is a spinning loop (PAUSE), which saves power and
// leaves the core to its other thread. It takes some 10 to 150 cycles.
func Pause()

// Prefetch asks the processor to fetch the cache line of p for reading; p may be any
// address.
func Prefetch(p unsafe.Pointer)

func cpuid(leaf uint32) (a, b, c, d uint32)

func hasPrefetchW() bool {
	if last, _, _, _ := cpuid(0x80000000); last < 0x80000001 {
		return false
	}
	_, _, c, _ := cpuid(0x80000001)
	return c&(1<<8) != 0
}

// model reads the brand string, 48 bytes in CPUID leaves 8000_0002h to 8000_0004h.
func model() string {
	if last, _, _, _ := cpuid(0x80000000); last < 0x80000004 {
		return "amd64"
	}
	var name []byte
	for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
		a, b, c, d := cpuid(leaf)
		for _, r := range [...]uint32{a, b, c, d} {
			name = append(name, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
		}
	}
	s, _, _ := strings.Cut(string(name), "\x00")
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "amd64"
	}
	return s
}
