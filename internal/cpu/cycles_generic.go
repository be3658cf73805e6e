//go:build !amd64

package cpu

// HasCycles reports false: this package has no such counter on this architecture.
func HasCycles() bool { return false }

// Cycles returns 0.
func Cycles() uint64 { return 0 }
