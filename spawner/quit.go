package spawner

import (
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/internal/stacks"
)

// dumpOnQuit has the process print its goroutines and exit with status 2 on SIGQUIT. printed is called
// in between. The function it returns undoes that.
func dumpOnQuit(rank int, printed func()) (undo func()) {
	return stacks.OnQuit(func() {
		fmt.Fprintf(os.Stderr, "SIGQUIT: goroutines of rank %d\n%s\n", rank, stacks.All())
		printed()
	})
}
