package spawner

import (
	"errors"
	"fmt"
	"path/filepath"
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
		return failure(statusUsage, "the ranks are started by %s, through which their output comes as one: it cannot be tagged or written to files rank by rank", name)
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
		ws, known := awaitEnd(fd)
		j.post(func() { j.followed(rank, ws, known) })
	})
	return nil
}

// reapTime is how long an ended process is given to be reaped by its parent.
const reapTime = 2 * time.Second

// awaitEnd waits for the end of a process, and returns how it has ended if the kernel tells it to
// those who are not its parents, as Linux does from 6.15 on.
func awaitEnd(pidfd int) (ws syscall.WaitStatus, known bool) {
	await(pidfd, unix.POLLIN, -1)
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	for range 2 {
		if err := unix.IoctlPidfdInfo(pidfd, &info); err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			return syscall.WaitStatus(info.Exit_code), true
		}
		// It is told once the process is reaped, which hangs up the descriptor.
		await(pidfd, 0, reapTime)
		info.Mask = unix.PIDFD_INFO_EXIT
	}
	return 0, false
}

// await waits until one of the events, or a hang-up, has come; at most for the limit, which is
// negative for none.
func await(fd int, events int16, limit time.Duration) {
	until := time.Now().Add(limit)
	for {
		left := -1
		if limit >= 0 {
			left = int(max(0, time.Until(until)).Milliseconds())
		}
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, left)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// followed notes that the process of a rank has ended, on the goroutine of run.
func (j *Job) followed(rank int, ws syscall.WaitStatus, known bool) {
	m := &j.members[rank]
	unix.Close(m.pidfd)
	m.pidfd = -1
	if rank == j.speaker {
		j.tellRanks()
	}
	j.letGo()
	if known {
		j.exited(rank, ws)
		j.judgeStarter()
		return
	}
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

// starterEnded notes that the starter itself has ended.
func (j *Job) starterEnded(ws syscall.WaitStatus) {
	j.running--
	j.starterOver, j.starterStatus = true, ws
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
	if !j.spec.started() || j.speaker < 0 || j.members[j.speaker].pidfd < 0 || j.verdict.status == 0 {
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

// signalFollowed sends a signal to the ranks that have joined, and reports whether there was one.
func (j *Job) signalFollowed(sig syscall.Signal) (any bool) {
	for i := range j.members {
		if m := &j.members[i]; m.conn != nil && m.pidfd >= 0 {
			any = unix.PidfdSendSignal(m.pidfd, sig, nil, 0) == nil || any
		}
	}
	return any
}

// followedLiving returns the ranks that have joined and not ended.
func (j *Job) followedLiving() (ranks []int) {
	for i := range j.members {
		if m := &j.members[i]; m.conn != nil && m.pidfd >= 0 {
			ranks = append(ranks, i)
		}
	}
	return ranks
}
