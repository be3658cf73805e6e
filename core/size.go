package core

import "github.com/aqueduct-go/aqueduct/internal/size"

// defaultSegment is the segment size when nothing else is asked for.
const defaultSegment = 64 << 20

// ParseSize reads a size in bytes: a number, fractions allowed, with an optional unit
// (B, K, KB or KiB, M, MB or MiB, and so on to TiB; powers of 1024, any case), or a percentage of whole. A
// percentage is refused when whole is 0.
func ParseSize(s string, whole uint64) (int, error) { return size.Parse(s, whole) }
