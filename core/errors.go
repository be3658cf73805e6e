package core

import (
	"errors"
	"fmt"
)

// ErrNoRoom is what a request with Message.Immediate returns instead of waiting for room.
// Nothing was sent; poll before trying again.
var ErrNoRoom = errors.New("core: no room now; poll and try again")

// UsageError reports a call that breaks a rule of the API: a bad argument, or a call
// where it is not allowed. Nothing was sent. In debug mode the job also ends.
type UsageError struct {
	Rank Rank
	Op   string // the call, e.g. "RequestLong"
	Msg  string
}

// Error names the rank, the call and what is wrong.
func (e *UsageError) Error() string {
	return fmt.Sprintf("core: rank %d: %s: %s", e.Rank, e.Op, e.Msg)
}

// ExitError is the end of a job with a status. Bootstraps yield it on Done; waits return
// it (wrapped or not) in every rank once the job has ended; a body that returns one
// chooses the job's status, from 0 to 255 as for Job.Exit.
type ExitError struct {
	Status int
	Reason string
}

// Error returns the reason with the status.
func (e *ExitError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("job ended with status %d", e.Status)
	}
	return e.Reason
}

// StatusLost is the status of a job that has lost a rank, as a shell tells it of a process that
// SIGKILL has ended.
const StatusLost = 128 + 9

// possible returns e with a status that a process can exit with, 0 only for 0.
func (e *ExitError) possible() *ExitError {
	if e.Status >= 0 && e.Status <= 255 {
		return e
	}
	status := max(1, e.Status&255)
	return &ExitError{status, fmt.Sprintf("%v; %d is no exit status (0 to 255), so the job's is %d", e, e.Status, status)}
}

// StatusOf returns the exit status that err stands for: 0 for nil, an ExitError's status,
// else 1.
func StatusOf(err error) int {
	if err == nil {
		return 0
	}
	var x *ExitError
	if errors.As(err, &x) {
		return x.Status
	}
	return 1
}
