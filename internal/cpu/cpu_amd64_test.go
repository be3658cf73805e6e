package cpu

import (
	"os"
	"strings"
	"testing"
)

// The kernel prints what CPUID told it, so /proc/cpuinfo is the oracle.
func TestAgainstKernel(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("no /proc/cpuinfo to compare with: ", err)
	}
	field := func(name string) string {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
				return strings.Join(strings.Fields(value), " ")
			}
		}
		t.Fatalf("/proc/cpuinfo has no field %q", name)
		return ""
	}
	if want := strings.Contains(" "+field("flags")+" ", " 3dnowprefetch "); hasPrefetchW != want {
		t.Errorf("PREFETCHW: %v, the kernel says %v", hasPrefetchW, want)
	}
	if want := strings.Contains(" "+field("flags")+" ", " nonstop_tsc "); HasCycles() != want {
		t.Errorf("a counter of one rate: %v, the kernel says %v", HasCycles(), want)
	}
	if ecx, edx := extended(0x8fffffff); ecx != 0 || edx != 0 {
		t.Error("a leaf that no processor has is not 0")
	}
}
