package cpu

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// The kernel prints what CPUID told it, so /proc/cpuinfo is the oracle.
func TestAgainstKernel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		if HasPrefetchW || Model() != runtime.GOARCH {
			t.Fatalf("HasPrefetchW = %v, Model = %q on %s", HasPrefetchW, Model(), runtime.GOARCH)
		}
		return
	}
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
	if want := field("model name"); Model() != want {
		t.Errorf("Model() = %q, the kernel says %q", Model(), want)
	}
	if want := strings.Contains(" "+field("flags")+" ", " 3dnowprefetch "); HasPrefetchW != want {
		t.Errorf("HasPrefetchW = %v, the kernel says %v", HasPrefetchW, want)
	}
}

func TestWaitingReturns(t *testing.T) {
	for range 100 {
		Pause()
		Yield()
	}
	if n := testing.AllocsPerRun(100, func() { Pause(); Yield() }); n != 0 {
		t.Errorf("Pause and Yield allocate %v times", n)
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause()
	}
}

func BenchmarkYield(b *testing.B) {
	for b.Loop() {
		Yield()
	}
}
