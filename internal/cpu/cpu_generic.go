//go:build !amd64

package cpu

import "unsafe"

// Pause does nothing on this architecture.
func Pause() {}

// PrefetchW does nothing on this architecture.
func PrefetchW(unsafe.Pointer) {}

// Prefetch does nothing on this architecture.
func Prefetch(unsafe.Pointer) {}

// PrefetchLines does nothing on this architecture.
func PrefetchLines(uintptr, int) {}
