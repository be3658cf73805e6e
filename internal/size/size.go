// Package size reads and writes sizes in bytes as users give them.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are powers of 1024.
var units = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1 << 40, "TIB": 1 << 40,
}

// Parse reads a size in bytes: a number, fractions allowed, with an optional unit
// (B, K, KB or KiB, M, MB or MiB, and so on to TiB; powers of 1024, any case), or a percentage of whole. A
// percentage is refused when whole is 0.
func Parse(s string, whole uint64) (int, error) {
	t := strings.ToUpper(strings.TrimSpace(s))
	digits := strings.TrimRight(t, "%BIKMGT")
	unit := t[len(digits):]
	scale, ok := units[unit]
	if unit == "%" {
		scale, ok = float64(whole)/100, whole > 0
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || v < 0 || math.IsNaN(v) || v*scale > 1<<62 {
		example := "64MB or 1.5GB"
		if whole > 0 {
			example = "64MB, 1.5GB or 50%"
		}
		return 0, fmt.Errorf("size %q is not like 65536, %s", s, example)
	}
	return int(v * scale), nil
}

// Format writes a size so that Parse reads it: by the largest unit of which it is a multiple.
func Format(n int) string {
	for _, u := range [...]struct {
		shift uint
		name  string
	}{{40, "TB"}, {30, "GB"}, {20, "MB"}, {10, "KB"}} {
		if n > 0 && n&(1<<u.shift-1) == 0 {
			return strconv.Itoa(n>>u.shift) + u.name
		}
	}
	return strconv.Itoa(n)
}
