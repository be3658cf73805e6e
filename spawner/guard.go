package spawner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardName is the argument 0 with which a launcher executes itself as its guard.
const guardName = "aqueduct-guard"

// A process that a launcher has started as its guard never gets further than this.
func init() {
	if len(os.Args) == 4 && os.Args[0] == guardName {
		pulse, _ := time.ParseDuration(os.Args[3]) // as startGuard has written it
		parent := os.Getppid()
		if keepGuard(&heard{pollable(0), pulse}, EnvJob+"="+os.Args[1], os.Args[2]) && os.Getppid() == parent {
			unix.Kill(parent, unix.SIGKILL)
		}
		syscall.Exit(0)
	}
}

// What a launcher says to its guard besides the numbers of process groups.
const (
	jobOver       = 0 // the last that it says
	launcherLives = 1 // it is there
)

// heard reads from a launcher that says something in each pulse.
type heard struct {
	*os.File
	pulse time.Duration // 0: it need not
}

// guardBeats is how many pulses of its launcher a guard may miss: more than an agent's Job, which is to name the host first.
const guardBeats = beats + beats/3

// errUnheard reports that a launcher has said nothing for so many pulses that it is lost.
var errUnheard = errors.New("the launcher is silent")

// Read implements io.Reader. It counts pulses, and not the time, so that a guard that was stopped with its launcher
// does not take that for lost.
func (h *heard) Read(b []byte) (int, error) {
	for missed := 0; h.pulse == 0 || missed < guardBeats; missed++ {
		if h.pulse > 0 {
			h.SetReadDeadline(time.Now().Add(h.pulse))
		}
		if n, err := h.File.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, errUnheard
}

// keepGuard reads the process groups of a job's ranks, a number a line: positive when one
// begins, negative when it has ended. If the launcher ends, or is silent, before it says that the job is
// over, what there is of the job is killed, and the directory scratch, if there is one, removed.
// mark is in the environment of all ranks. It reports whether the launcher is silent: then that has stopped.
func keepGuard(from io.Reader, mark, scratch string) (silent bool) {
	groups := make(map[int]bool)
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		switch n, err := strconv.Atoi(lines.Text()); {
		case err != nil:
		case n == jobOver:
			return false
		case n == launcherLives:
		case n > 1: // kill(2) takes 1 for every process
			groups[n] = true
		default:
			delete(groups, -n)
		}
	}
	for g := range groups {
		unix.Kill(-g, unix.SIGKILL)
	}
	sweep(mark)
	if scratch != "" {
		removeScratch(scratch)
	}
	return errors.Is(lines.Err(), errUnheard)
}

// sweep kills the processes with the setting in their environment: those that have left
// their group, or whose group the launcher had no time to tell. A process that just begins
// to execute a program seems to have no environment, hence the second look.
func sweep(setting string) {
	killed := make(map[int]bool)
	for looks := 2; looks > 0; looks-- {
		names, _ := filepath.Glob("/proc/[1-9]*/environ")
		for _, name := range names {
			pid, err := strconv.Atoi(strings.Split(name, "/")[2])
			if err != nil || killed[pid] {
				continue
			}
			env, _ := os.ReadFile(name) // fails if it is another user's, or gone
			if slices.Contains(strings.Split(string(env), "\x00"), setting) {
				unix.Kill(pid, unix.SIGKILL)
				killed[pid] = true
				looks = 3 // it may have started others since they were listed
			}
		}
	}
}

// guard is the launcher's end of a process that outlives it just long enough to kill what
// ranks have started, and what connects agents. The ranks and carriers themselves the kernel kills.
type guard struct {
	pid, pipe int
	quit      chan struct{} // closed when it need not hear any more that the launcher is there
	group     sync.WaitGroup
}

// startGuard executes this program again, in a session of its own: whatever signal ends
// the launcher's process group leaves it alone. With a pulse, how often it hears of the launcher, it takes
// one that has stopped for one that has ended, and kills it, too.
func startGuard(job, scratch string, pulse time.Duration) (*guard, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, failure(statusSelf, "%v", err)
	}
	defer null.Close()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, failure(statusSelf, "making a pipe for the job's guard: %v", err)
	}
	defer unix.Close(pipe[0])
	pid, err := syscall.ForkExec("/proc/self/exe", []string{guardName, job, scratch, pulse.String()}, &syscall.ProcAttr{
		Dir: "/", Env: mergeEnv(os.Environ()), Files: []uintptr{uintptr(pipe[0]), null.Fd(), null.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		unix.Close(pipe[1])
		return nil, failure(statusSelf, "starting the job's guard, which is this program again: %v; is /proc mounted, and is there room for a process more?", err)
	}
	g := &guard{pid: pid, pipe: pipe[1], quit: make(chan struct{})}
	if pulse > 0 {
		g.group.Go(func() { g.beat(pulse) })
	}
	return g, nil
}

// beat tells the guard in each pulse that the launcher is there.
func (g *guard) beat(pulse time.Duration) {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-tick.C:
			g.tell(launcherLives)
		}
	}
}

// begins tells the guard of a process group.
func (g *guard) begins(group int) { g.tell(group) }

// ended tells it that the group is gone; its number may come to mean another.
func (g *guard) ended(group int) { g.tell(-group) }

func (g *guard) tell(n int) {
	for {
		// Another error means that somebody has killed the guard: the job goes on without.
		if _, err := unix.Write(g.pipe, fmt.Appendln(nil, n)); err != unix.EINTR {
			return
		}
	}
}

// stop returns when the guard is gone.
func (g *guard) stop() {
	close(g.quit)
	g.group.Wait()
	g.tell(jobOver)
	unix.Close(g.pipe)
	for {
		if _, err := syscall.Wait4(g.pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
