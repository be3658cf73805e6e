// Package stacks prints the goroutines of a process for people who ask what it does.
package stacks

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

const module = "github.com/aqueduct-go/aqueduct"

// uninteresting are texts in the stacks of goroutines that tell nothing about a program: those by which
// a rank hears from its launcher, and this dump itself.
var uninteresting = [][]byte{
	[]byte("\ncreated by " + module + "/internal/stacks."),
	[]byte("\ncreated by " + module + "/spawner.Connect "),
	[]byte("\ncreated by " + module + "/spawner.(*client)."),
	[]byte("\ncreated by " + module + "/core.Join "),
	[]byte("\ncreated by " + module + "/core.RunGoroutines "),
	[]byte("\ncreated by " + module + "/core.(*inProcess)."),
	[]byte("\n" + module + "/core.(*inProcess).await("),
	[]byte("\ncreated by os/signal."),
	[]byte("\ncreated by runtime."),
}

// OnQuit has dump called when the process gets SIGQUIT, which then exits with status 2. What the Go
// runtime does by itself does not show the stacks of goroutines that are running just then, such as a
// rank that polls. The function it returns undoes that.
func OnQuit(dump func()) (undo func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, unix.SIGQUIT)
	go func() {
		if _, ok := <-quit; !ok {
			return
		}
		dump()
		os.Exit(2)
	}()
	return func() {
		signal.Stop(quit)
		close(quit)
	}
}

// All returns the stacks of all goroutines but the uninteresting ones, at most 16 MiB of text. It
// begins with a blank line.
func All() []byte {
	var buf []byte
	for size := 64 << 10; ; size *= 4 {
		buf = make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 16<<20 {
			return keep(buf[:n])
		}
	}
}

// keep returns the stacks that say something about the program.
func keep(all []byte) []byte {
	var kept []byte
	for stack := range bytes.SplitSeq(bytes.TrimSpace(all), []byte("\n\n")) {
		if interesting(stack) {
			kept = append(append(kept, '\n'), stack...)
			kept = append(kept, '\n')
		}
	}
	return kept
}

func interesting(stack []byte) bool {
	for _, text := range uninteresting {
		if bytes.Contains(stack, text) {
			return false
		}
	}
	return true
}
