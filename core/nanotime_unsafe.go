package core

import _ "unsafe" // for go:linkname

// nanotime reads the clock that all processes of a host share (CLOCK_MONOTONIC), in nanoseconds. Package time reads it too,
// but does not tell what it says.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
