package aqueduct

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
)

// freezing says which ranks wait for a debugger.
type freezing struct {
	all   bool
	ranks []core.Rank // when they begin
}

// setFreeze takes the ranks that wait for a debugger when they begin: all, or their numbers.
func setFreeze(s *settings, v string) error {
	if v == "all" {
		s.freezing.all = true
		return nil
	}
	for _, text := range strings.Split(v, ",") {
		r, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return errors.New("want all, or numbers of ranks, as in 0,3")
		}
		s.freezing.ranks = append(s.freezing.ranks, core.Rank(r))
	}
	return nil
}

// setFreezeOnError has a rank that is about to end the job wait for a debugger first.
func setFreezeOnError(s *settings, v string) error {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return errors.New("want 1 or 0")
	}
	if on {
		s.cfg.Failing = func(r core.Rank, why string) { freeze(fmt.Sprintf("rank %d", r), "since it fails: "+why) }
	}
	return nil
}

// freezeRank waits for a debugger before a rank that is a process begins, if that is to be.
func (s *settings) freezeRank(r core.Rank) {
	if s.freezing.all || slices.Contains(s.freezing.ranks, r) {
		freeze(fmt.Sprintf("rank %d", r), "at its beginning")
	}
}

// freezeProcess is freezeRank for the process of all ranks.
func (s *settings) freezeProcess() {
	if s.freezing.all || s.freezing.ranks != nil {
		freeze("the process of all ranks", "at its beginning")
	}
}

// freeze says who waits, and waits until a debugger has attached to the process and let it go on, or SIGCONT
// comes. It waits in system calls: in virtual time a rank that blocks otherwise ends the job.
func freeze(who, why string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, unix.SIGCONT)
	defer signal.Stop(goOn)
	// Where the kernel lets parents alone attach (Yama), everybody of this user may.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	host, _ := os.Hostname()
	if tracer() != 0 {
		return // a debugger came earlier, and let the process continue
	}
	fmt.Fprintf(os.Stderr, "aqueduct: %s is frozen on host %s as process %d, %s; attach a debugger and let it continue, or kill -CONT %[3]d\n", who, host, os.Getpid(), why)
	for len(goOn) == 0 && tracer() == 0 {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 50e6}, nil)
	}
}

// tracer returns the process that traces the calling thread, 0 if none does. A debugger has a thread stop as it attaches
// to it: so who reads here that it is traced goes on when the debugger says so.
func tracer() int {
	text, _ := os.ReadFile("/proc/thread-self/status")
	_, after, _ := bytes.Cut(text, []byte("\nTracerPid:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(line)))
	return pid
}
