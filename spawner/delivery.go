package spawner

import (
	"fmt"
	"time"
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
		reason := lost(err)
		j.decide(statusSelf, reason, reason)
	}
	if j.strange > strangersNamed {
		j.out.report("refused %d connections in all", j.strange)
	}
	j.await(j.out.finish(), limit)
	j.out.close()
}

// lost says that output could not be written.
func lost(err error) string { return fmt.Sprintf("writing the job's output failed: %v", err) }

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
