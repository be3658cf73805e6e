//go:build !amd64

package cpu

import "runtime"

// Pause does nothing on this architecture.
func Pause() {}

func hasPrefetchW() bool { return false }

func model() string { return runtime.GOARCH }
