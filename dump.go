package aqueduct

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/stacks"
)

// dumpOnQuit has the process print on SIGQUIT where its ranks are, if there is a function that tells, and
// the goroutines, labelled with their ranks, and exit with status 2. The function it returns undoes that.
func dumpOnQuit(places *atomic.Pointer[func() []core.Place]) (undo func()) {
	return stacks.OnQuit(func() {
		if places := places.Load(); places != nil {
			fmt.Fprintf(os.Stderr, "SIGQUIT: where the ranks are:\n%s\n", core.Table((*places)()))
		}
		os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // takes effect at once
		fmt.Fprintf(os.Stderr, "SIGQUIT: goroutines of all ranks\n%s\n", stacks.All())
	})
}
