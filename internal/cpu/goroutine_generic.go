//go:build !amd64 && !arm64

package cpu

// Goroutine returns 0 on this architecture: goroutines cannot be told apart.
func Goroutine() uintptr { return 0 }
