package spawner

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// finishOutput delivers what the ranks and the launcher have written, on the goroutine of
// run when the ranks have ended. A reader may take its time, as a pager does, unless the
// job was forced to end.
func (j *Job) finishOutput() {
	limit := j.spec.grace() + strayTime
	if !j.await(j.out.drain(), limit) {
		reason := "gave up on output that nobody reads; what was left of it is lost"
		j.out.report("%s", reason)
		j.decide(statusSelf, reason, "")
	}
	if err := j.out.failure(); err != nil {
		j.lose(err, "")
	}
	if j.strange > strangersNamed {
		j.out.report("refused %d connections in all", j.strange)
	}
	j.await(j.out.finish(), limit)
	j.out.close()
}

// lose ends the job because output could not be written; the message has more behind the reason.
// Where the reader has gone away that is nobody's failure: the job ends without a message, as a
// program does that SIGPIPE kills.
func (j *Job) lose(err error, more string) {
	if errors.Is(err, unix.EPIPE) {
		j.decide(statusPipe, fmt.Sprintf("the reader of the job's output went away: %v", err), "")
		return
	}
	reason := fmt.Sprintf("writing the job's output failed: %v", err)
	j.decide(statusSelf, reason, reason+more)
}

// await executes what others post until the channel is closed, or fails: when a job that
// was forced to end has waited for the time given, or the user wants no more of it.
func (j *Job) await(delivered <-chan struct{}, patience time.Duration) bool {
	var limit <-chan time.Time
	j.abandon = false
	for !j.abandon {
		if j.forced && limit == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			limit = t.C
		}
		select {
		case <-delivered:
			return true
		case f := <-j.events:
			f()
		case <-limit:
			return false
		}
	}
	return false
}
