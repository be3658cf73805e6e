package aqueduct

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// dumpOnQuit has the process print all goroutines, labelled with their ranks, and exit
// with status 2 on SIGQUIT: what the Go runtime does by itself, but with ranks, and with
// the stacks of those that are running just then. The function it returns undoes that.
func dumpOnQuit() (undo func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, unix.SIGQUIT)
	go func() {
		if _, ok := <-quit; !ok {
			return
		}
		os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // takes effect at once
		fmt.Fprintf(os.Stderr, "SIGQUIT: goroutines of all ranks\n\n%s\n", stacks())
		os.Exit(2)
	}()
	return func() {
		signal.Stop(quit)
		close(quit)
	}
}

// stacks returns the stacks of all goroutines, at most 16 MiB of text.
func stacks() []byte {
	for size := 64 << 10; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 16<<20 {
			return buf[:n]
		}
	}
}
