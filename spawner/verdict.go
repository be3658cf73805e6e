package spawner

import (
	"fmt"
	"syscall"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// verdict is how a job ends: the first failure decides, and non-zero beats zero.
type verdict struct {
	ending bool // the end is decided; what ranks do from now on is a consequence
	status int
	reason string
	signal int // 128 + the signal by which a user has asked the job to end, or 0
}

// record notes an end. first reports that it decides, counts that it sets the status.
func (v *verdict) record(status int, reason string) (first, counts bool) {
	first = !v.ending
	if counts = first || v.status == 0 && status != 0; counts {
		v.ending, v.status, v.reason = true, status, reason
	}
	return first, counts
}

// interrupt notes that the user has asked the job to end.
func (v *verdict) interrupt(sig syscall.Signal) {
	if !v.ending && v.signal == 0 {
		v.signal = 128 + int(sig)
		v.reason = "ended by " + unix.SignalName(sig)
	}
}

// result returns the job's exit status, and the failure as an error.
func (v *verdict) result() (int, error) {
	status := v.status
	if v.signal != 0 {
		status = v.signal
	}
	if status == 0 {
		return 0, nil
	}
	return status, &core.ExitError{Status: status, Reason: v.reason}
}

// statusOf returns the exit status a shell would show for a process that ended.
func statusOf(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// describe says in words how a process ended.
func describe(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return fmt.Sprintf("was killed by %s (%v)", unix.SignalName(ws.Signal()), ws.Signal())
	}
	return fmt.Sprintf("exited with status %d", ws.ExitStatus())
}
