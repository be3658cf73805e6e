package link_test

import "runtime"

// yield lets the goroutine at the other end go on, of which a test waits for something.
func yield() { runtime.Gosched() }
