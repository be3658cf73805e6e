package spawner

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// dumpOnQuit has the process print all goroutines and exit with status 2 on SIGQUIT, as
// the Go runtime does by itself, but with the stacks of those that are running just then,
// such as a rank that polls. printed is called in between. The function it returns undoes that.
func dumpOnQuit(rank int, printed func()) (undo func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, unix.SIGQUIT)
	go func() {
		if _, ok := <-quit; !ok {
			return
		}
		fmt.Fprintf(os.Stderr, "SIGQUIT: goroutines of rank %d\n\n%s\n", rank, stacks())
		printed()
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
