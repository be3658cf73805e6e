package spawner

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"golang.org/x/sys/unix"
)

// dumpTime is how long ranks may take to print their goroutines, at least.
const dumpTime = 5 * time.Second

// dumpLimit returns how long they may take in this job.
func (s *Spec) dumpLimit() time.Duration { return max(s.grace(), dumpTime) }

// The functions of this file run on the goroutine of Job.run.

// exited notes that a rank's process has ended.
func (j *Job) exited(rank int, ws syscall.WaitStatus) {
	m := &j.members[rank]
	m.exited, m.ws = true, ws
	j.running--
	j.located(rank, nil)
	j.parting()
	j.settle(rank)
}

// disconnected notes that a rank has closed its end of the connection, with the error if that is
// not how it has ended.
func (j *Job) disconnected(rank int, err error) {
	m := &j.members[rank]
	m.lost = true
	j.linked--
	j.located(rank, nil)
	wait := max(j.spec.grace(), strayTime)
	if j.quitting {
		wait += j.spec.dumpLimit() // see letQuit
	}
	switch {
	case err != nil && !m.exited:
		j.breach(rank, err.Error())
	case !m.left && !m.exited:
		j.after(wait, func() {
			if !m.exited && !m.gone {
				j.end(1, fmt.Sprintf("rank %d closed its connection but its process %d still runs", rank, m.pid))
			}
		})
	}
	j.settle(rank)
	// Not before: a rank that is cut off must not be heard before the reason.
	switch {
	case j.quitting:
		j.letQuit()
	case j.far == nil || !m.left && !j.informed: // else its agent has, or will
		j.hostOf(rank).hangUp(rank)
	}
}

// heard reports whether a rank's process has ended and all that it sent is read.
func (m *member) heard() bool { return m.exited && (!m.joined || m.lost) }

// settle judges a rank that has ended, once it is heard.
func (j *Job) settle(rank int) {
	m := &j.members[rank]
	switch {
	case j.spec.started():
		j.settleInOrder()
	case m.heard() && m.joined && !m.left && m.ws == 0:
		j.inquire(func() { j.judge(rank) }) // it matters who else has left
	case m.heard():
		j.judge(rank)
	}
}

// judge judges a rank that has ended.
func (j *Job) judge(rank int) {
	m := &j.members[rank]
	if m.obscure {
		j.checkWaiters()
		return
	}
	status, said, announced := statusOf(m.ws), j.name(rank)+" "+describe(m.ws), false
	unfinished := status == 0 && m.joined && !m.left && j.taking() > 0
	if unfinished {
		said += fmt.Sprintf(" without finishing the job while %s took part in it", plural.Count(j.taking(), "other rank", "other ranks"))
	}
	switch {
	case status != 0 && j.spec.Mode != Processes && !m.ws.Signaled() && !j.verdict.ending:
		j.decide(status, said, "") // the process of all ranks has said why itself
	case status != 0 || unfinished:
		announced = j.end(status, said)
	}
	if j.spec.Verbose && !announced {
		j.out.report("%s", said)
	}
	j.checkWaiters()
}

// name returns what to call a rank's process.
func (j *Job) name(rank int) string {
	if j.spec.Mode != Processes {
		return "the process of all ranks"
	}
	if host := j.hostName(rank); host != "" {
		return fmt.Sprintf("rank %d on host %s", rank, host)
	}
	return fmt.Sprintf("rank %d", rank)
}

// taking returns how many ranks have neither left nor ended.
func (j *Job) taking() int {
	n := 0
	for i := range j.members {
		if m := &j.members[i]; !m.left && !m.exited {
			n++
		}
	}
	return n
}

// checkWaiters fails the job if ranks wait in a collective call for one that is gone.
func (j *Job) checkWaiters() {
	call, first, ok := j.calls.waiting()
	if !ok {
		return
	}
	for rank := range j.members {
		switch m := &j.members[rank]; {
		case j.calls.in[rank]: // it made the call before it ended
		case m.left:
			j.end(1, fmt.Sprintf("rank %d left the job while rank %d waits in %v", rank, first, call))
		case !m.joined && m.exited && m.obscure && m.overdue && !j.order.pending():
			j.end(1, fmt.Sprintf("rank %d ended before it joined the job, while rank %d waits in %v", rank, first, call))
		case !m.joined && m.exited && !m.obscure && (m.settled || !j.spec.started()):
			j.end(1, fmt.Sprintf("rank %d %s before it joined the job, while rank %d waits in %v", rank, describe(m.ws), first, call))
		}
	}
}

// end ends the job for a reason, unless its end is decided already: what happens then is
// a consequence. It returns whether it has said so.
func (j *Job) end(status int, reason string) (announced bool) {
	return !j.verdict.ending && j.decide(status, reason, reason+"; ending the job")
}

// decide notes how the job ends, announces it, and has the ranks end. Only what may replace
// an end with status 0 comes here when the end is decided already.
func (j *Job) decide(status int, reason, announce string) (announced bool) {
	first, counts := j.verdict.record(status, reason)
	announced = counts && announce != "" && j.verdict.signal == 0
	if announced {
		j.out.report("%s", announce)
	}
	if first {
		j.endRanks()
	}
	return announced
}

// endRanks tells the ranks that the job has ended and kills them when they had time to.
func (j *Job) endRanks() {
	if j.verdict.status != 0 {
		shm.Ring(j.judged)
	}
	if j.spec.started() {
		j.here.farewell = j.lastWord()
	}
	if !j.letFinish() {
		j.tellRanks()
	}
	j.after(j.spec.grace(), func() { j.kill(j.spec.grace()) })
}

// tellRanks tells the ranks that the job has ended, once.
func (j *Job) tellRanks() {
	if j.informed {
		return
	}
	j.informed = true
	if j.spec.started() {
		j.tellStarted()
		return
	}
	frame := j.lastWord()
	for _, h := range j.hosts {
		h.conclude(frame)
	}
}

// lastWord returns the frame that tells a rank how the job ends.
func (j *Job) lastWord() []byte {
	return appendVerdict(nil, kindEnd, j.verdict.status, j.verdict.reason)
}

// interrupt notes that the user asks the job to end, and returns the signal to pass on.
func (j *Job) interrupt(sig syscall.Signal) syscall.Signal {
	name := unix.SignalName(sig)
	j.asked++
	j.verdict.interrupt(sig)
	switch {
	case j.running == 0:
		j.out.report("%s: all ranks have ended, only their output has not", name)
		j.abandon = j.forced
		j.forced = true
	case j.asked == 1:
		j.out.report("%s is passed to all ranks; another SIGINT or SIGTERM kills them", name)
	default:
		j.out.report("%s, the second signal to end the job: killing all ranks", name)
		return unix.SIGKILL
	}
	return sig
}

// expire ends the job because its time is up.
func (j *Job) expire() {
	j.forced = true
	reason := fmt.Sprintf("the job reached its time limit of %v", j.spec.Timeout)
	first, counts := j.verdict.record(statusTimeout, reason)
	if counts && j.running == 0 {
		j.out.report("%s; only its output is unfinished", reason)
	}
	if !first || j.running == 0 {
		return
	}
	shm.Ring(j.judged)
	j.locate(func(places []core.Place) {
		if j.spec.Mode == Processes { // else the process of all ranks says so
			j.out.report("%s; where the ranks are:\n%s", reason, core.Table(places))
		}
		j.out.report("%s; asking every rank for its goroutines", reason)
		if !j.spec.started() {
			j.out.tagLines()
		}
		j.out.reported(func() { j.post(j.askGoroutines) })
		j.after(surveyTime, j.askGoroutines)
	})
}

// askGoroutines has the ranks print their goroutines, once, and kills them when they had time to.
func (j *Job) askGoroutines() {
	if j.dumping || j.running == 0 {
		return
	}
	j.dumping = true
	j.signal(unix.SIGQUIT)
	wait := j.spec.dumpLimit()
	j.after(wait, func() { j.kill(wait) })
}

// kill kills the ranks that still live after they had the given time to end.
func (j *Job) kill(given time.Duration) {
	if j.running == 0 {
		return
	}
	j.forced = true
	ranks := j.living()
	j.inquire(func() { // before they hear of the signal
		ranks = slices.DeleteFunc(ranks, func(rank int) bool {
			m := &j.members[rank]
			return m.exited && (!m.ws.Signaled() || m.ws.Signal() != unix.SIGKILL)
		})
		if given > 0 && len(ranks) > 0 {
			j.out.report("killing what did not end within %v: %s", given, plural.List(ranks, "rank", "ranks"))
		}
	})
	j.signalFollowed(unix.SIGKILL)
	if j.spec.started() {
		// It ends by itself when the ranks have, and cleans up. Those that have not entered it alone knows.
		if j.unknown() {
			j.signalAll(unix.SIGTERM)
		}
		j.after(starterTime, func() { j.signalAll(unix.SIGKILL) })
		return
	}
	j.signalAll(unix.SIGKILL)
}

// living returns the ranks whose processes are known and live.
func (j *Job) living() (ranks []int) {
	if j.spec.started() {
		return j.followedLiving()
	}
	for i := range j.members {
		if m := &j.members[i]; m.pid != 0 && !m.exited {
			ranks = append(ranks, i)
		}
	}
	return ranks
}
