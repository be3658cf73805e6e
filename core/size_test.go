package core

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	const whole = 1 << 30
	for s, want := range map[string]int{
		"0": 0, "1": 1, "65536": 65536, " 12 ": 12, "7B": 7, "7b": 7,
		"1K": 1 << 10, "1KB": 1 << 10, "1KiB": 1 << 10, "1kib": 1 << 10, "64MB": 64 << 20, "64 MB": 64 << 20,
		"1.5GB": 3 << 29, "2T": 2 << 40, "0.5k": 512, "1e3": 1000,
		"50%": whole / 2, "0.1%": 1073741, "100%": whole, "200%": 2 * whole,
	} {
		if got, err := ParseSize(s, whole); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "MB", "%", "x", "12furlongs", "-1", "-1MB", "1XB", "5IB", "5I", "5KI", "1KKB", "1 2", "1%%", "50%B", "NaN", "inf", "1e30", "8388608TB", "0x10",
	} {
		if got, err := ParseSize(s, whole); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", s, got)
		} else if !strings.Contains(err.Error(), strconv.Quote(s)) {
			t.Errorf("the error for %q does not quote it: %v", s, err)
		}
	}
	if _, err := ParseSize("50%", 0); err == nil {
		t.Error("a percentage of nothing known is accepted")
	}
}
