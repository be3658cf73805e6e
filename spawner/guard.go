package spawner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardName is the argument 0 with which a launcher executes itself as its guard.
const guardName = "aqueduct-guard"

// A process that a launcher has started as its guard never gets further than this.
func init() {
	if len(os.Args) == 3 && os.Args[0] == guardName {
		keepGuard(os.Stdin, EnvJob+"="+os.Args[1], os.Args[2])
		syscall.Exit(0)
	}
}

// jobOver is what the launcher says last.
const jobOver = 0

// keepGuard reads the process groups of a job's ranks, a number a line: positive when one
// begins, negative when it has ended. If the launcher ends before it says that the job is
// over, what there is of the job is killed, and the directory scratch, if there is one, removed.
// mark is in the environment of all ranks.
func keepGuard(launcher io.Reader, mark, scratch string) {
	groups := make(map[int]bool)
	for lines := bufio.NewScanner(launcher); lines.Scan(); {
		switch n, err := strconv.Atoi(lines.Text()); {
		case err != nil:
		case n == jobOver:
			return
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
// ranks have started. The ranks themselves the kernel kills.
type guard struct{ pid, pipe int }

// startGuard executes this program again, in a session of its own: whatever signal ends
// the launcher's process group leaves it alone.
func startGuard(job, scratch string) (*guard, error) {
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
	pid, err := syscall.ForkExec("/proc/self/exe", []string{guardName, job, scratch}, &syscall.ProcAttr{
		Dir: "/", Env: mergeEnv(os.Environ()), Files: []uintptr{uintptr(pipe[0]), null.Fd(), null.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		unix.Close(pipe[1])
		return nil, failure(statusSelf, "starting the job's guard, which is this program again: %v; is /proc mounted, and is there room for a process more?", err)
	}
	return &guard{pid: pid, pipe: pipe[1]}, nil
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
	g.tell(jobOver)
	unix.Close(g.pipe)
	for {
		if _, err := syscall.Wait4(g.pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
