package spawner

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"golang.org/x/sys/unix"
)

// Job is a job that has been started. Its methods may be called from any goroutine.
type Job struct {
	spec   Spec
	out    *output
	procs  *procs
	secret []byte
	server *server // nil if the ranks share a process

	// What follows belongs to the goroutine of run; others post it functions.
	members []member
	running int // processes that have not ended, as far as they are known
	linked  int // connections that have not ended
	absent  int // ranks that have not joined
	calls   *rendezvous
	dealer  dealer
	verdict verdict
	strange int  // connections refused
	asked   int  // times a user has asked the job to end
	forced  bool // the output must not take much longer than the ranks
	abandon bool // it must not take any longer
	timers  []*time.Timer

	told    bool // the ranks know that the job has ended
	speaker int  // the rank that aborted the job last; -1: none

	survey    core.Survey // what is known of where the ranks are
	surveying *inquiry    // to all ranks where they are; nil: none
	inquiries uint32      // so far
	stall     *core.Stall // what to ask all ranks for next

	judged        int        // a bell that has rung once the job has failed
	scratch       *lockedDir // nil: none
	quitting      bool       // ranks print their goroutines, see awaitQuit
	order         *order     // of ends; nil without a Starter
	starterFD     int        // its pidfd; nobody: none
	starterOver   bool       // the Starter has ended
	starterStatus syscall.WaitStatus
	patient       bool // see hasty
	starterLate   bool

	events chan func()
	over   chan struct{} // closed when run takes no more events
	group  sync.WaitGroup
	done   chan struct{} // closed when everything is released
}

// member is what the launcher knows of a rank.
type member struct {
	conn   *conn // nil until it has joined
	left   bool  // it has called Close
	lost   bool  // its connection has ended
	exited bool
	ws     syscall.WaitStatus // once it has exited

	// With a Starter:
	pid     int  // once it has entered, or joined; 0 before
	pidfd   int  // of its process; -1 once that has been reaped
	gone    bool // its process lives no more
	obscure bool // it has exited, but ws is not known to be its own
	overdue bool // nor will it be
	settled bool // it has been judged
}

// Start starts the job that spec describes and returns when all its processes run. If it
// cannot, the error is a *core.ExitError with the status for a launcher to exit with, and
// nothing is left. When ctx ends the job is ended as by a failure.
func Start(ctx context.Context, spec Spec) (*Job, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	path, argv, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	n, ranks := spec.processes(), spec.ranks()
	j := &Job{
		spec: spec, procs: newProcs(hex.EncodeToString(fresh(8)), n), secret: fresh(secretSize),
		members: make([]member, ranks), running: n, absent: ranks, speaker: -1, starterFD: nobody, calls: newRendezvous(ranks),
		events: make(chan func()), over: make(chan struct{}), done: make(chan struct{}),
	}
	if j.judged, err = shm.NewBell(); err != nil {
		return nil, failure(statusSelf, "%v", err)
	}
	j.out, err = newOutput(&spec, func(err error) {
		j.post(func() { j.lose(err, "; ending the job") })
	})
	if err != nil {
		unix.Close(j.judged)
		return nil, failure(statusSelf, "%v", err)
	}
	if spec.started() {
		if j.order, err = newOrder(); err != nil {
			unix.Close(j.judged)
			<-j.out.finish()
			return nil, failure(statusSelf, "%v", err)
		}
	}
	if spec.Mode == Processes {
		if err := j.listen(); err != nil {
			unix.Close(j.judged)
			if j.order != nil {
				j.order.close()
			}
			<-j.out.finish()
			return nil, failure(statusSelf, "%v", err)
		}
	}
	started := make(chan bool)
	go j.run(ctx, started)
	err = j.launch(path, argv)
	started <- err == nil
	if err != nil {
		<-j.done
		return nil, err
	}
	return j, nil
}

// run is the life of the job: it executes what others post until all has ended and the
// output is delivered, then releases everything.
func (j *Job) run(ctx context.Context, started <-chan bool) {
	unwatch := context.AfterFunc(ctx, func() {
		j.post(func() {
			j.forced = true
			j.end(statusSelf, fmt.Sprintf("the job was cancelled: %v", context.Cause(ctx)))
		})
	})
	alive := j.awaitLaunch(started)
	for alive && j.running+j.linked > 0 {
		(<-j.events)()
	}
	if j.spec.started() && j.verdict.ending {
		sweep(EnvJob + "=" + j.procs.job) // what the starter has left behind
	}
	if j.scratch != nil {
		removeScratch(j.scratch.path)
		j.scratch.lock.Close()
	}
	j.finishOutput()
	close(j.over)

	unwatch()
	for _, t := range j.timers {
		t.Stop()
	}
	if j.server != nil {
		j.server.stop()
		j.server.group.Wait()
	}
	for i := range j.members {
		if c := j.members[i].conn; c != nil {
			c.stop()
		}
	}
	j.group.Wait()
	unix.Close(j.judged)
	if j.order != nil {
		j.order.close()
		unix.Close(j.starterFD)
	}
	closeFDs(j.calls.held())
	closeFDs(j.dealer.fds)
	j.procs.group.Wait()
	close(j.done)
}

// awaitLaunch serves the ranks that run already until all do, and reports whether that
// succeeded.
func (j *Job) awaitLaunch(started <-chan bool) bool {
	for {
		select {
		case f := <-j.events:
			f()
		case alive := <-started:
			if alive && j.spec.Timeout > 0 {
				j.after(j.spec.Timeout, j.expire)
			}
			if alive && j.verdict.ending {
				j.endRanks() // those that started after the end know nothing of it
			}
			return alive
		}
	}
}

// post has run execute f, and reports whether it will: not when the job is over.
func (j *Job) post(f func()) bool {
	select {
	case j.events <- f:
		return true
	case <-j.over:
		return false
	}
}

// after posts f when d has passed.
func (j *Job) after(d time.Duration, f func()) {
	j.timers = append(j.timers, time.AfterFunc(d, func() { j.post(f) }))
}

// Wait returns when every process of the job has ended and all their output is delivered,
// or given up: that of a job whose ranks were killed, or that was cancelled or ran out of
// time, has Spec.Grace and a second from when they have ended.
// The status is the one for a launcher to exit with; unless it is 0, err is a
// *core.ExitError that says what ended the job.
func (j *Job) Wait() (status int, err error) {
	<-j.done
	return j.verdict.result()
}

// Pid returns the process id of a rank, or of the wrapper in which Spec.Prefix started it; with a
// Spec.Starter it is 0 before the starter has begun the rank. When the ranks share a process, rank 0 stands
// for all.
func (j *Job) Pid(rank core.Rank) int {
	if !j.spec.started() {
		return j.procs.pid(int(rank))
	}
	answer := make(chan int, 1)
	if !j.post(func() { answer <- j.members[rank].pid }) {
		return 0
	}
	return <-answer
}

// Kill kills the process group of one rank with SIGKILL, or with a Spec.Starter its process once that
// has begun; the job then ends as it does when a rank dies by itself.
func (j *Job) Kill(rank core.Rank) error {
	if rank < 0 || int(rank) >= len(j.members) {
		return fmt.Errorf("spawner: Kill: rank %d of a job of %d processes", rank, len(j.members))
	}
	if !j.killRank(int(rank)) {
		return fmt.Errorf("spawner: Kill: rank %d has ended", rank)
	}
	return nil
}

// killRank kills a rank and reports whether it lived.
func (j *Job) killRank(rank int) bool {
	if !j.spec.started() {
		return j.procs.signalRank(rank, unix.SIGKILL)
	}
	killed := make(chan bool, 1)
	if !j.post(func() {
		m := &j.members[rank]
		killed <- m.follows() && unix.PidfdSendSignal(m.pidfd, unix.SIGKILL, nil, 0) == nil
	}) {
		return false
	}
	return <-killed
}

// Signal sends a signal to every rank, with its process group. SIGINT and SIGTERM also
// decide the job's status, 128 + signal; the second of them kills all ranks. When the ranks
// have ended and only output is left that nobody reads, the first bounds the wait for it
// and the second ends it.
func (j *Job) Signal(sig syscall.Signal) {
	j.post(func() {
		if sig == unix.SIGINT || sig == unix.SIGTERM {
			sig = j.interrupt(sig)
		}
		j.forced = j.forced || sig == unix.SIGKILL
		j.signal(sig)
	})
}

// signal sends a signal to every rank, on the goroutine of run. A starter gets it only where it
// has to pass it on: the ranks are not to have it twice. SIGQUIT would end it, and with it the ranks
// that print their goroutines.
func (j *Job) signal(sig syscall.Signal) {
	if sig == unix.SIGQUIT && j.spec.started() {
		j.awaitQuit()
	}
	if !j.signalFollowed(sig) || j.unknown() && sig != unix.SIGQUIT {
		j.procs.signal(sig)
	}
}
