package am

import (
	"os"
	"strconv"
	"strings"
)

// memory returns the proportional set size of this process in bytes: its own pages, and its share of those that others have too. ok is
// false where the kernel does not tell.
func memory() (bytes float64, ok bool) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" && f[2] == "kB" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}
