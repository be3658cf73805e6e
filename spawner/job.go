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
	*loop
	spec  Spec
	execs []*execution // by rank
	out   *output
	hosts []host     // where the ranks are
	far   *children  // the same, if agents serve them; else nil
	guard *guard     // of what connects agents; nil: there is none
	seen  *viewpoint // nil: nobody can see the job
	here  *local     // the only host, if the ranks are on this one
	hub   *hub       // stands for all hosts, if the job is static
	since time.Time  // when its start began, or was over; the loop's

	// What follows belongs to the loop.
	members []member
	running int // processes that have not ended, as far as they are known
	linked  int // connections that have not ended
	calls   *rendezvous
	verdict verdict
	strange int  // connections refused
	asked   int  // times a user has asked the job to end
	forced  bool // the output must not take much longer than the ranks
	dumping bool // the ranks have been asked for their goroutines
	abandon bool // it must not take any longer

	wanted uint32   // how often agents were asked for what they hold back
	untold []func() // what waits for that
	parted bool     // a rank is gone

	informed bool // the ranks know that the job has ended
	speaker  int  // the rank that aborted the job last; -1: none

	records   [][]byte    // by rank, what was recorded of it; nil: nothing has come
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

	group sync.WaitGroup
	done  chan struct{} // closed when everything is released
}

// Start starts the job that spec describes and returns when all its processes run. If it
// cannot, the error is a *core.ExitError with the status for a launcher to exit with, and
// nothing is left. When ctx ends the job is ended as by a failure.
func Start(ctx context.Context, spec Spec) (*Job, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	execs, err := spec.executions()
	if err != nil {
		return nil, err
	}
	if spec.Hosts == nil { // else agents look
		if err := spec.resolve(execs, upTo(spec.ranks())); err != nil {
			return nil, err
		}
	}
	ranks := spec.ranks()
	j := &Job{
		loop: newLoop(), spec: spec, execs: execs,
		members: make([]member, ranks), records: make([][]byte, ranks), running: spec.processes(), speaker: -1, calls: newRendezvous(ranks), since: time.Now(),
		judged: nobody, starterFD: nobody, done: make(chan struct{}),
	}
	for i := range j.members {
		j.members[i].pidfd = nobody
	}
	if err := j.open(); err != nil {
		j.release()
		return nil, asFailure(err)
	}
	if spec.Hosts != nil {
		j.running = spec.N
	}
	started := make(chan bool)
	go j.run(ctx, started)
	j.beSeen()
	err = j.launch(ctx)
	started <- err == nil
	if err != nil {
		<-j.done
		return nil, err
	}
	return j, nil
}

// open makes what the job needs before its first process.
func (j *Job) open() (err error) {
	if j.judged, err = shm.NewBell(); err != nil {
		return err
	}
	if j.spec.started() {
		if j.order, err = newOrder(); err != nil {
			return err
		}
	}
	j.out, err = newOutput(&j.spec, func(err error) {
		j.post(func() { j.lose(err, "; ending the job") })
	})
	if err != nil {
		return err
	}
	if j.spec.Hosts != nil {
		return j.hire()
	}
	j.here = newLocal(j.loop, &j.spec, hex.EncodeToString(fresh(8)), upTo(j.spec.ranks()), j)
	j.here.say = func(line string) { j.out.report("%s", line) }
	j.here.execs, j.here.attach, j.here.starter = j.execs, j.out.attach, j.starterEvents()
	j.hosts = []host{j.here}
	if j.spec.Mode == Processes {
		return j.here.listen()
	}
	return nil
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// launch starts the processes.
func (j *Job) launch(ctx context.Context) error {
	if j.spec.Hosts != nil {
		return j.launchFar(ctx)
	}
	if err := j.makeScratch(); err != nil {
		return failure(statusSelf, "%v", err)
	}
	return j.here.launch()
}

// hostOf returns the host of a rank.
func (j *Job) hostOf(rank int) host {
	if len(j.hosts) == 1 {
		return j.hosts[0]
	}
	return j.far.via[j.spec.HostOf[rank]]
}

// hostName returns the name of a rank's host, "" if all ranks are on this one.
func (j *Job) hostName(rank int) string {
	if j.spec.Hosts == nil {
		return ""
	}
	return j.spec.Hosts[j.spec.HostOf[rank]]
}

// run is the life of the job: it executes what others post until all has ended and the
// output is delivered, then releases everything.
func (j *Job) run(ctx context.Context, started <-chan bool) {
	alive := j.awaitLaunch(started)
	if alive { // else nobody is left to hear of the end of ctx, and launch has told of it
		defer context.AfterFunc(ctx, func() {
			j.post(func() {
				j.forced = true
				j.end(statusSelf, fmt.Sprintf("the job was cancelled: %v", context.Cause(ctx)))
			})
		})()
	}
	for alive && j.running+j.linked > 0 {
		(<-j.events)()
	}
	j.callUntold() // there is no more to tell
	if !alive {
		j.dismiss()
	}
	if j.spec.started() && j.verdict.ending {
		sweep(EnvJob + "=" + j.here.procs.job) // what the starter has left behind
	}
	if j.scratch != nil {
		removeScratch(j.scratch.path)
		j.scratch.lock.Close()
	}
	j.finishOutput()
	j.loop.end()

	j.release()
	close(j.done)
}

// release closes what open has made, and waits for the goroutines of the job, once the loop is over or if it
// never ran.
func (j *Job) release() {
	if j.here != nil {
		j.here.close()
	}
	if j.hub != nil {
		j.hub.close()
	}
	if j.seen != nil {
		j.seen.close()
	}
	j.dismiss()
	j.group.Wait()
	if j.out != nil && j.out.messages != nil {
		<-j.out.finish()
	}
	unix.Close(j.judged)
	if j.order != nil {
		j.order.close()
		unix.Close(j.starterFD)
	}
}

// awaitLaunch serves the ranks that run already until all do, and reports whether that
// succeeded.
func (j *Job) awaitLaunch(started <-chan bool) bool {
	for {
		select {
		case f := <-j.events:
			f()
		case alive := <-started:
			j.since = time.Now()
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

// Wait returns when every process of the job has ended and all their output is delivered,
// or given up: that of a job whose ranks were killed, or that was cancelled or ran out of
// time, has Spec.Grace and a second from when they have ended.
// The status is the one for a launcher to exit with; unless it is 0, err is a
// *core.ExitError that says what ended the job.
func (j *Job) Wait() (status int, err error) {
	<-j.done
	return j.verdict.result()
}

// Records returns by rank what was recorded of it, as package core/record encodes it, if the job was watched and has ended: it
// waits for that. It is nil for a rank that has handed over nothing, and for all ranks if they share a process, which then has it.
func (j *Job) Records() [][]byte {
	<-j.done
	return j.records
}

// Pid returns the process id of a rank, or of the wrapper in which Spec.Prefix started it; with a
// Spec.Starter it is 0 before the starter has begun the rank. When the ranks share a process, rank 0 stands
// for all.
func (j *Job) Pid(rank core.Rank) int {
	answer := make(chan int, 1)
	if !j.post(func() { answer <- j.members[rank].pid }) {
		<-j.done
		return j.members[rank].pid
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
	killed := make(chan bool, 1)
	if !j.post(func() {
		switch m := &j.members[rank]; {
		case j.spec.started():
			killed <- m.follows() && unix.PidfdSendSignal(m.pidfd, unix.SIGKILL, nil, 0) == nil
		case m.exited:
			killed <- false
		default:
			j.hostOf(rank).signal(rank, unix.SIGKILL)
			killed <- true
		}
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
		j.signalAll(sig)
	}
}

// signalAll sends a signal to the process groups of all processes that hosts have started.
func (j *Job) signalAll(sig syscall.Signal) {
	for _, h := range j.hosts {
		h.signalAll(sig)
	}
}
