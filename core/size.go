package core

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// defaultSegment is the segment size when nothing else is asked for.
const defaultSegment = 64 << 20

// sizeUnits are powers of 1024.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1 << 40, "TIB": 1 << 40,
}

// ParseSize reads a size in bytes: a number, fractions allowed, with an optional unit
// (B, K, KB or KiB, M, MB or MiB, and so on to TiB; powers of 1024, any case), or a percentage of whole. A
// percentage is refused when whole is 0.
func ParseSize(s string, whole uint64) (int, error) {
	t := strings.ToUpper(strings.TrimSpace(s))
	digits := strings.TrimRight(t, "%BIKMGT")
	unit := t[len(digits):]
	scale, ok := sizeUnits[unit]
	if unit == "%" {
		scale, ok = float64(whole)/100, whole > 0
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || v < 0 || math.IsNaN(v) || v*scale > 1<<62 {
		return 0, fmt.Errorf("size %q is not like 65536, 64MB, 1.5GB or 50%%", s)
	}
	return int(v * scale), nil
}
