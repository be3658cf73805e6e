//go:build !amd64

package cpu

import (
	"runtime"
	"unsafe"
)

// Pause does nothing on this architecture.
func Pause() {}

func hasPrefetchW() bool { return false }

func model() string { return runtime.GOARCH }

// Prefetch does nothing on this architecture.
func Prefetch(unsafe.Pointer) {}
