package cpu

// Goroutine returns a number that identifies the calling goroutine among those that live:
// the address of its descriptor in the Go runtime. A later goroutine may have the number of
// one that has ended.
func Goroutine() uintptr
