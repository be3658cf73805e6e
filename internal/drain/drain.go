// Package drain waits for the readers of a process's output.
package drain

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pause is the time between two looks at a pipe: nothing tells its writer that it has been read.
const pause = time.Millisecond

// Wait returns when what was written to f has been read, if f is a pipe, and after the limit at most. A
// launcher that hears first how a job has failed may throw away what it has not read.
func Wait(f *os.File, limit time.Duration) {
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(pause) {
		if n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ); err != nil || n == 0 {
			return
		}
	}
}
