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
// below it; they join as all ranks do, and from then on the kernel tells of their end by a
// descriptor of the process.

// starterTime is how long the starter may take to end, and to tell how a rank has ended, when the
// kernel does not tell that.
const starterTime = 5 * time.Second

// started reports whether another launcher starts the ranks.
func (s *Spec) started() bool { return len(s.Starter) > 0 }

// starterName is what the starter is called in messages.
func (s *Spec) starterName() string { return filepath.Base(s.Starter[0]) }

// checkStarter refuses what cannot be done with ranks that another launcher starts.
func (s *Spec) checkStarter() error {
	if !s.started() {
		return nil
	}
	name := s.starterName()
	switch {
	case s.Mode != Processes:
		return failure(statusUsage, "%s starts processes, but the ranks are to share one", name)
	case s.RankVar == "":
		return failure(statusUsage, "the variable in which %s tells a process its rank is missing", name)
	case s.Bind == BindCore:
		return failure(statusUsage, "the ranks are started by %s, which binds them: give it options for that", name)
	case len(s.Prefix) > 0:
		return failure(statusUsage, "the ranks are started by %s and cannot be started one by one through %s", name, quote(s.Prefix))
	case s.TagOutput || s.OutputDir != "":
		return failure(statusUsage, "the ranks are started by %s, through which their output comes as one; have them tell it apart, or use options of %s", name, name)
	}
	return nil
}

// follow begins to watch the process of a rank that has joined, on the goroutine of run.
func (j *Job) follow(rank int, l *link) error {
	cred, err := peerOf(l.conn)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(int(cred.Pid), 0)
	if err != nil {
		return fmt.Errorf("following process %d of rank %d: %w", cred.Pid, rank, err)
	}
	m := &j.members[rank]
	m.pid, m.pidfd = int(cred.Pid), fd
	j.running++
	if j.spec.Verbose {
		j.out.report("rank %d is process %d", rank, m.pid)
	}
	j.group.Go(func() {
		await(fd, unix.POLLIN, -1, nobody)
		j.post(func() { j.gone(rank) })
		ws, known := statusOfEnded(fd, j.judged)
		j.post(func() { j.followed(rank, ws, known) })
	})
	return nil
}

// follows reports whether a rank has joined and its process lives.
func (m *member) follows() bool { return m.conn != nil && m.pidfd >= 0 && !m.gone }

// gone notes that the process of a rank lives no more. Its parent may take its time to find out: a
// launcher that ends the others sleeps meanwhile.
func (j *Job) gone(rank int) {
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
func (j *Job) followed(rank int, ws syscall.WaitStatus, known bool) {
	m := &j.members[rank]
	unix.Close(m.pidfd)
	m.pidfd = -1
	if known {
		j.suspend(rank, ws)
		return
	}
	defer j.resume()
	j.running--
	m.exited, m.obscure = true, true
	if !m.lost {
		m.conn.link.conn.SetReadDeadline(time.Now().Add(strayTime))
	}
	if !m.left {
		j.after(starterTime, func() { j.end(1, fmt.Sprintf("rank %d ended without finishing the job", rank)) })
	}
	j.settle(rank)
	j.judgeStarter()
}

// suspend has a rank that was killed wait for what becomes of the others: a starter kills all when
// one has failed, and may do so before that one is seen to have ended.
func (j *Job) suspend(rank int, ws syscall.WaitStatus) {
	j.members[rank].ws = ws
	if !ws.Signaled() || ws.Signal() != syscall.SIGKILL && ws.Signal() != syscall.SIGTERM {
		j.exited(rank, ws)
		j.judgeStarter()
		j.resume()
		return
	}
	if j.suspended = append(j.suspended, rank); len(j.suspended) == 1 {
		j.after(j.spec.grace()/2, j.resumeAll)
	}
	j.resume()
}

// resume takes note of the ranks that were killed, once all others have been heard to the end.
func (j *Job) resume() {
	for i := range j.members {
		if m := &j.members[i]; m.conn != nil && !(m.exited && m.lost) && !slices.Contains(j.suspended, i) {
			return
		}
	}
	j.resumeAll()
}

func (j *Job) resumeAll() {
	killed := j.suspended
	j.suspended = nil
	for _, rank := range killed {
		j.exited(rank, j.members[rank].ws)
	}
	if len(killed) > 0 {
		j.judgeStarter()
	}
}

// starterEnded notes that the starter itself has ended.
func (j *Job) starterEnded(ws syscall.WaitStatus) {
	j.running--
	j.starterOver, j.starterStatus = true, ws
	if ws.Signaled() {
		j.blameStarter() // whatever the ranks do now, it is because of that
	}
	for i := range j.members {
		if m := &j.members[i]; m.conn == nil {
			m.exited, m.obscure, m.ws = true, true, ws
		}
	}
	j.after(starterTime, func() { j.blameStarter() })
	j.judgeStarter()
	j.checkWaiters()
}

// judgeStarter takes the starter's status as that of the job, if all ranks have ended and none has
// said or shown another.
func (j *Job) judgeStarter() {
	if !j.starterOver {
		return
	}
	for i := range j.members {
		if m := &j.members[i]; m.conn != nil && (!m.exited || !m.lost) {
			return
		}
	}
	j.blameStarter()
	for i := range j.members {
		if m := &j.members[i]; m.conn != nil && m.obscure && !m.left {
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

// letGo lets the rank leave that has ended the job with status 0, once it is the last: it waits for
// that (see client.Exit), as a starter would kill the others, who may have a status of failure.
func (j *Job) letGo() {
	if j.speaker < 0 || !j.told || !j.spec.started() {
		return
	}
	if left := j.followedLiving(); len(left) == 1 && left[0] == j.speaker {
		j.members[j.speaker].conn.link.close()
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
		if m := &j.members[i]; m.follows() && !m.lost {
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
			m.conn.link.close()
		}
	}
}

// signalFollowed sends a signal to the ranks that have joined, and reports whether there was one.
func (j *Job) signalFollowed(sig syscall.Signal) (any bool) {
	for i := range j.members {
		if m := &j.members[i]; m.follows() {
			any = unix.PidfdSendSignal(m.pidfd, sig, nil, 0) == nil || any
		}
	}
	return any
}

// followedLiving returns the ranks that have joined and live.
func (j *Job) followedLiving() (ranks []int) {
	for i := range j.members {
		if m := &j.members[i]; m.follows() {
			ranks = append(ranks, i)
		}
	}
	return ranks
}
