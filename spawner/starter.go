package spawner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A job may be started by another launcher, such as mpiexec: a Spec's Starter. That is then the
// one process that this launcher has started itself. The ranks are its children, or somebody's
// below it. What it executes for a rank is this program again, which enters its process into the job and then
// becomes the rank's program (see entry.go). From then on the kernel tells of its end by a descriptor.

// starterTime is how long the starter may take to end, and to tell how a rank has ended, when the
// kernel does not tell that.
const starterTime = 5 * time.Second

// started reports whether another launcher starts the ranks.
func (s *Spec) started() bool { return s.Starter != nil }

// starterName is what the starter is called in messages.
func (s *Spec) starterName() string { return filepath.Base(s.Starter.Command[0]) }

// checkStarter refuses what cannot be done with ranks that another launcher starts.
func (s *Spec) checkStarter() error {
	if !s.started() {
		return nil
	}
	if len(s.Starter.Command) == 0 {
		return failure(statusUsage, "the command that is to start the ranks is empty")
	}
	name := s.starterName()
	switch {
	case s.Mode != Processes:
		return failure(statusUsage, "%s starts processes, but the ranks are to share one", name)
	case s.Starter.RankVar == "":
		return failure(statusUsage, "the variable in which %s tells a process its rank is missing", name)
	case s.bound() || s.ReportBindings:
		return failure(statusUsage, "the ranks are started by %s, which binds them: give it options for that", name)
	case len(s.Prefix) > 0:
		return failure(statusUsage, "the ranks are started by %s and cannot be started one by one through %s", name, quote(s.Prefix))
	case s.TagOutput || s.OutputDir != "":
		return failure(statusUsage, "the ranks are started by %s, through which their output comes as one; have them tell it apart, or use options of %s", name, name)
	}
	return nil
}

// follow begins to watch the process of a rank, on the goroutine of run. Should the rank have entered as
// another, such as a shell that has started this one, that counts no more.
func (j *Job) follow(rank, pid int) error {
	m := &j.members[rank]
	if m.pid == pid {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		err = j.order.ends(rank, fd)
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("following process %d of rank %d: %w", pid, rank, err)
	}
	m.pid, m.pidfd, m.gone = pid, fd, false
	j.running++
	if j.spec.Verbose {
		j.out.report("rank %d is process %d", rank, pid)
	}
	j.group.Go(func() {
		await(fd, unix.POLLIN, -1, nobody)
		j.post(func() { j.gone(rank, fd) })
		ws, known := statusOfEnded(fd, j.judged)
		j.post(func() { j.followed(rank, fd, ws, known) })
	})
	return nil
}

// follows reports whether the process of a rank is known and lives.
func (m *member) follows() bool { return m.pid != 0 && m.pidfd >= 0 && !m.gone }

// followJoined begins to watch a rank that has joined.
func (j *Job) followJoined(rank int, l *link) error {
	if j.members[rank].exited {
		return errRankEnded
	}
	cred, err := peerOf(l.conn)
	if err != nil {
		return err
	}
	if err := j.follow(rank, int(cred.Pid)); err != nil {
		return err
	}
	return j.order.hangsUp(rank, l.conn)
}

// unknown reports whether there are ranks whose processes only the starter knows, if they run.
func (j *Job) unknown() bool {
	return slices.ContainsFunc(j.members, func(m member) bool { return m.pid == 0 })
}

// gone notes that the process of a rank lives no more. Its parent may take its time to find out: a
// launcher that ends the others sleeps meanwhile.
func (j *Job) gone(rank, pidfd int) {
	if j.members[rank].pidfd != pidfd {
		return
	}
	j.members[rank].gone = true
	if rank == j.speaker {
		j.tellRanks()
	}
	j.letGo()
	j.letQuit()
}

// reapTime is how long an ended process is given to be reaped by its parent.
const reapTime = 2 * time.Second

// statusOfEnded returns how a process that lives no more has ended, if the kernel tells it to those who
// are not its parents, as Linux does from 6.15 on. It waits no longer once judged is readable.
func statusOfEnded(pidfd, judged int) (ws syscall.WaitStatus, known bool) {
	// It is told once the process is reaped, which hangs up the descriptor.
	await(pidfd, 0, reapTime, judged)
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(pidfd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, false
	}
	return syscall.WaitStatus(info.Exit_code), true
}

// nobody is no descriptor.
const nobody = -1

// await waits until one of the events, or a hang-up, has come, or other is readable; at most for
// the limit, which is negative for none.
func await(fd int, events int16, limit time.Duration, other int) {
	until := time.Now().Add(limit)
	for {
		left := -1
		if limit >= 0 {
			left = int(max(0, time.Until(until)).Milliseconds())
		}
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(other), Events: unix.POLLIN}}, left)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// followed notes how the process of a rank has ended, on the goroutine of run.
func (j *Job) followed(rank, pidfd int, ws syscall.WaitStatus, known bool) {
	m := &j.members[rank]
	j.order.look()
	unix.Close(pidfd)
	if m.pidfd != pidfd { // another process has joined in its place
		j.running--
		return
	}
	m.pidfd = -1
	m.obscure = !known
	if !known && !m.left {
		j.after(starterTime, func() {
			if !m.joined {
				m.overdue = true
				j.checkWaiters()
			} else {
				j.end(1, fmt.Sprintf("rank %d ended without finishing the job", rank))
			}
		})
	}
	j.exited(rank, ws)
}

// theStarter is the starter among those that end.
const theStarter = -1

// settleInOrder judges those that have ended in the order in which they began to: what came later may have
// come of what was first. So it waits for who has hung up and not yet ended, and for the last
// words of who has.
func (j *Job) settleInOrder() {
	for s, ok := j.order.first(); ok && j.settleSign(s); s, ok = j.order.first() {
		j.order.drop()
	}
	j.judgeStarter()
}

// settleSign judges whom a sign is of, unless more is to come of that one, and reports whether it is done with.
func (j *Job) settleSign(s sign) bool {
	if s.who == theStarter {
		if j.starterOver && j.starterStatus.Signaled() {
			j.blameStarter() // whatever the ranks do now, it is because of that
		}
		return j.starterOver
	}
	switch m := &j.members[s.who]; {
	case m.settled:
	case m.exited:
		if !m.heard() || j.hasty(m.ws) {
			return false
		}
		m.settled = true
		j.judge(s.who)
	case s.pidfd == nobody:
		return m.lost && (m.left || j.quitting) // else it is ending
	default:
		return s.pidfd != m.pidfd // another process has joined in its place
	}
	return true
}

// hasty reports whether it is too early to hold a rank's end against it: if it was killed, it may have been by the
// starter, because a signal has killed a rank of which the launcher does not know yet. Then the starter's status
// tells: 128 + signal, or the signal's number.
func (j *Job) hasty(ws syscall.WaitStatus) bool {
	if !j.unknown() || j.verdict.ending || !ws.Signaled() || ws.Signal() != syscall.SIGKILL && ws.Signal() != syscall.SIGTERM {
		return false
	}
	if !j.starterOver && !j.patient {
		j.patient = true
		j.after(starterTime, func() { j.starterLate = true; j.settleInOrder() })
	}
	if !j.starterOver {
		return !j.starterLate
	}
	const last = 64 // of the signals
	if s := statusOf(j.starterStatus) % 128; s > 0 && s <= last && s != int(ws.Signal()) {
		j.blameStarter()
	}
	return false
}

// starterEvents returns what the host is to tell of a starter, nil without one.
func (j *Job) starterEvents() *starterEvents {
	if !j.spec.started() {
		return nil
	}
	return &starterEvents{began: j.starterBegan, ended: j.starterEnded, joined: j.followJoined, entered: j.entered}
}

// starterBegan puts the starter among those whose ends are noticed in order.
func (j *Job) starterBegan(pid, pidfd int, err error) {
	if j.spec.Verbose {
		j.out.report("%s is process %d: %s", j.spec.starterName(), pid, quote(j.here.execs[0].argv))
	}
	if j.starterFD = pidfd; err == nil {
		err = j.order.ends(theStarter, pidfd)
	}
	if err != nil {
		j.end(statusSelf, fmt.Sprintf("following the process of %s: %v", j.spec.starterName(), err))
	}
}

// starterEnded notes that the starter itself has ended.
func (j *Job) starterEnded(ws syscall.WaitStatus) {
	j.running--
	j.starterOver, j.starterStatus = true, ws
	for i := range j.members {
		if m := &j.members[i]; m.pid == 0 {
			m.exited, m.obscure, m.overdue, m.ws = true, true, true, ws
		}
	}
	j.after(starterTime, func() { j.blameStarter() })
	j.settleInOrder()
	j.checkWaiters()
}

// judgeStarter takes the starter's status as that of the job, if all ranks have ended and none has
// said or shown another.
func (j *Job) judgeStarter() {
	if !j.starterOver || slices.ContainsFunc(j.members, func(m member) bool { return !m.heard() }) {
		return
	}
	j.blameStarter()
	for i := range j.members {
		if m := &j.members[i]; m.joined && m.obscure && !m.left {
			j.end(1, fmt.Sprintf("rank %d ended without finishing the job", i))
		}
	}
}

func (j *Job) blameStarter() {
	ws := j.starterStatus
	if status := statusOf(ws); status != 0 {
		j.end(status, j.spec.starterName()+" "+describe(ws))
	}
}

// letFinish reports whether the others are told of the end only when the rank that has ended the
// job is gone, or has had half of the time that it has. Should another one go first and show a
// status of failure, a starter kills all, also the one that still prints why it has failed.
func (j *Job) letFinish() bool {
	if !j.spec.started() || j.speaker < 0 || !j.members[j.speaker].follows() || j.verdict.status == 0 {
		return false
	}
	j.after(j.spec.grace()/2, j.tellRanks)
	return true
}

// tellStarted tells the ranks that the job has ended. Those that the launcher does not know are told when they
// join, or killed.
func (j *Job) tellStarted() {
	for rank := range j.members {
		switch m := &j.members[rank]; {
		case rank == j.speaker && j.verdict.status == 0: // it waits, see letGo
		case m.joined:
			j.here.send(rank, j.lastWord())
		case m.follows():
			unix.PidfdSendSignal(m.pidfd, unix.SIGTERM, nil, 0) // there is no other way to tell it
		}
	}
	if j.unknown() && len(j.followedLiving()) == 0 {
		j.signalAll(unix.SIGTERM) // the starter passes that on
	}
	j.letGo()
}

// letGo lets the rank leave that has ended the job with status 0, once it is the last: it waits for
// that (see client.Exit), as a starter would kill the others, who may have a status of failure.
func (j *Job) letGo() {
	if j.speaker < 0 || !j.informed || !j.spec.started() {
		return
	}
	if left := j.followedLiving(); len(left) == 1 && left[0] == j.speaker {
		j.here.hangUp(j.speaker)
	}
}

// awaitQuit has the ranks that have printed their goroutines stay, see client.dumped, as they have been
// sent SIGQUIT: a starter would kill those who still print.
func (j *Job) awaitQuit() {
	j.quitting = true
	j.after(j.spec.dumpLimit(), j.hangUp)
}

// letQuit hangs up once all ranks have hung up or are gone.
func (j *Job) letQuit() {
	if !j.quitting {
		return
	}
	for i := range j.members {
		if m := &j.members[i]; m.joined && m.follows() && !m.lost {
			return
		}
	}
	j.hangUp()
}

// hangUp closes the connections of the ranks that have hung up, now and from now on.
func (j *Job) hangUp() {
	j.quitting = false
	for i := range j.members {
		if m := &j.members[i]; m.lost {
			j.here.hangUp(i)
		}
	}
}

// signalFollowed sends a signal to the ranks that are known, and reports whether there was one. SIGQUIT ends one
// that has not joined at once, so the others would have no time to print: it goes to those only if none has joined.
func (j *Job) signalFollowed(sig syscall.Signal) (any bool) {
	joined := slices.ContainsFunc(j.members, func(m member) bool { return m.joined })
	for i := range j.members {
		if m := &j.members[i]; m.follows() && (sig != unix.SIGQUIT || !joined || m.joined) {
			any = unix.PidfdSendSignal(m.pidfd, sig, nil, 0) == nil || any
		}
	}
	return any
}

// followedLiving returns the ranks that are known and live.
func (j *Job) followedLiving() (ranks []int) {
	for i := range j.members {
		if m := &j.members[i]; m.follows() {
			ranks = append(ranks, i)
		}
	}
	return ranks
}
