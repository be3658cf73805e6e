package spawner

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/aqueduct-go/aqueduct/spawner/binding"
	"golang.org/x/sys/unix"
)

// command is one process to start.
type command struct {
	path  string
	argv  []string
	env   []string
	dir   string
	cpus  []int      // those that it may use; nil: all
	files []*os.File // its descriptors 0, 1, 2; closed in the launcher once it runs
}

// procs starts the processes of a job, each leading a process group, and reaps them.
//
// All of that happens on one OS thread, which lives as long as any of them: the kernel
// kills them when the thread that started them ends, and waits on that thread see hardly
// any other children of this program.
type procs struct {
	job   string         // its name
	dir   string         // removed by the guard
	group sync.WaitGroup // of parent
	guard *guard         // nil: parent starts and stops one
	mu    sync.Mutex
	pids  []int // by rank; 0: not started
	alive []bool
	due   []syscall.Signal // by rank: to be sent when it is started; 0: none
}

func newProcs(job string, n int) *procs {
	return &procs{job: job, pids: make([]int, n), alive: make([]bool, n), due: make([]syscall.Signal, n)}
}

// launch starts a process per rank and returns when all run. Another goroutine reports
// each start to began and, when all run, each end to exited; group waits for it. On error
// no process is left.
func (p *procs) launch(build func(rank int) (command, error), began func(rank, pid int), exited func(rank int, ws syscall.WaitStatus)) error {
	started := make(chan error)
	p.group.Go(func() { p.parent(build, began, exited, started) })
	return <-started
}

// parent is the life of the parent thread.
func (p *procs) parent(build func(int) (command, error), began func(int, int), exited func(int, syscall.WaitStatus), started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.guard == nil {
		var err error
		if p.guard, err = startGuard(p.job, p.dir, 0); err != nil {
			started <- err
			return
		}
		defer p.guard.stop()
	}
	err := p.startAll(build, began)
	if err == nil {
		started <- nil
	} else {
		p.signal(unix.SIGKILL)
	}
	for len(p.living()) > 0 {
		rank, ws, ok := p.reap()
		if !ok {
			break
		}
		if rank >= 0 && err == nil {
			exited(rank, ws)
		}
	}
	if err != nil {
		started <- err
	}
}

func (p *procs) startAll(build func(int) (command, error), began func(rank, pid int)) error {
	for rank := range p.pids {
		c, err := build(rank)
		if err != nil {
			return err
		}
		p.mu.Lock() // who asks about a process that runs already is to know it
		pid, err := c.start(rank)
		if err == nil {
			p.guard.begins(pid) // at once: until then it is guarded less well
			p.pids[rank], p.alive[rank] = pid, true
			if sig := p.due[rank]; sig != 0 {
				unix.Kill(-pid, sig)
			}
		}
		p.mu.Unlock()
		for _, f := range c.files {
			f.Close()
		}
		if err != nil {
			return err
		}
		began(rank, pid)
	}
	return nil
}

// start executes the command. The calling thread becomes the one whose end kills it.
func (c *command) start(rank int) (pid int, err error) {
	if c.cpus != nil {
		restore, err := bindThread(c.cpus)
		if err != nil {
			return 0, failure(statusSelf, "cannot bind rank %d to CPUs %s: %v; use binding %q", rank, binding.FormatList(c.cpus), err, BindNone)
		}
		defer restore()
	}
	fds := make([]uintptr, len(c.files))
	for i, f := range c.files {
		fds[i] = f.Fd()
	}
	pid, err = syscall.ForkExec(c.path, c.argv, &syscall.ProcAttr{
		Dir: c.dir, Env: c.env, Files: fds,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	runtime.KeepAlive(c.files)
	if err != nil {
		return 0, startFailure(rank, c.path, err)
	}
	return pid, nil
}

// startFailure explains why a program could not be started.
func startFailure(rank int, path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return failure(statusMissing, "program %s, or the interpreter it names, does not exist", path)
	case errors.Is(err, unix.ENOEXEC):
		return failure(statusExec, "program %s is in no format the kernel can execute; does a script lack its #! line?", path)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		return failure(statusSelf, "starting rank %d: %v; raise `ulimit -u` or the pids limit of the container, or start fewer ranks", rank, err)
	case errors.Is(err, unix.E2BIG):
		return failure(statusExec, "arguments and environment of program %s are too long", path)
	}
	return failure(statusExec, "program %s cannot be executed: %v", path, err)
}

// bindThread restricts the calling thread, and what it starts, to some CPUs until restored.
func bindThread(cpus []int) (restore func(), err error) {
	var before, some unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	for _, c := range cpus {
		some.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return nil, err
	}
	return func() { unix.SchedSetaffinity(0, &before) }, nil
}

// reap waits for the next child to end, and kills what is left of its process group; ok is
// false when there are none. Rank -1 is some other child: the main thread, should this be
// it, is given those of threads that end and, in a container's first process, orphans.
func (p *procs) reap() (rank int, ws syscall.WaitStatus, ok bool) {
	pid, ok := nextEnded()
	if !ok {
		return 0, 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rank = slices.Index(p.pids, pid)
	if rank >= 0 {
		// The process is a zombie until Wait4, so its number cannot mean anything else yet.
		unix.Kill(-pid, unix.SIGKILL)
		p.guard.ended(pid)
		p.alive[rank] = false
	}
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
			return rank, ws, true
		}
	}
}

// signal sends a signal to the process group of every rank, as signalRank does.
func (p *procs) signal(sig syscall.Signal) {
	for rank := range p.pids {
		p.signalRank(rank, sig)
	}
}

// signalRank sends a signal to the process group of one rank and reports whether it lives. A rank that is not
// started yet gets SIGTERM and SIGKILL, which end it, when it is. Others it would not be ready for.
func (p *procs) signalRank(rank int, sig syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ends := sig == unix.SIGTERM || sig == unix.SIGKILL; p.pids[rank] == 0 && ends && p.due[rank] != unix.SIGKILL {
		p.due[rank] = sig
	}
	if !p.alive[rank] {
		return false
	}
	if unix.Kill(-p.pids[rank], sig) != nil {
		unix.Kill(p.pids[rank], sig) // it has left its group
	}
	return true
}

// own reports whether a process is that of a rank, ended or not, or belongs to the process
// group of one.
func (p *procs) own(pid, group int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.pids, func(rank int) bool {
		return rank > 0 && (rank == pid || rank == group)
	})
}

// living returns the ranks whose processes live.
func (p *procs) living() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ranks []int
	for r, alive := range p.alive {
		if alive {
			ranks = append(ranks, r)
		}
	}
	return ranks
}
