package coretest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/stepped"
)

// Stepped is the Launcher of jobs in virtual time whose ranks are at the other ends of sockets, as those in processes of their own
// are. A job runs as Model runs it, too: both must be the same in their traces and outputs.
var Stepped Launcher = steppedRanks{}

type steppedRanks struct{}

func (steppedRanks) Offers() Offer { return Modelled }

func (steppedRanks) Launch(t testing.TB, l *Launch) *Outcome {
	var boards [2]board
	var traces [2]bytes.Buffer
	cfg := l.Config
	cfg.Trace = &traces[0]
	boards[0].guard(t, l, func() error {
		return core.RunModel(l.Ranks, cfg, func(j *core.Job) error { return run(l.Case, j, &boards[0]) })
	})
	cfg.Trace = &traces[1]
	o := boards[1].guard(t, l, func() error { return runStepped(l, cfg, &boards[1]) })
	if a, b := boards[0].lines.String(), boards[1].lines.String(); a != b {
		t.Errorf("%s\nthe job differs from one of coroutines\n--- coroutines\n%s--- stepped\n%s", l.Case.Rule, a, b)
	}
	if err := sameTraces(&traces[0], &traces[1]); err != nil {
		t.Errorf("%s\nthe job differs from one of coroutines: %v", l.Case.Rule, err)
	}
	return o
}

// sameTraces returns the first difference of two traces, but for how their last lines say that a job has ended.
func sameTraces(a, b *bytes.Buffer) error {
	for n := 1; ; n++ {
		x, _ := a.ReadBytes('\n')
		y, _ := b.ReadBytes('\n')
		switch {
		case !bytes.Equal(x, y) && !(bytes.HasPrefix(x, []byte("#")) && bytes.HasPrefix(y, []byte("#"))):
			return fmt.Errorf("line %d of its trace is %q, and not %q", n, y, x)
		case len(x) == 0:
			return nil
		}
	}
}

// runStepped runs the job of a case.
func runStepped(l *Launch, cfg core.Config, b *board) error {
	children := make([]stepped.Child, l.Ranks)
	var ranks sync.WaitGroup
	for i := range children {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		model, rank := os.NewFile(uintptr(fds[0]), "model"), os.NewFile(uintptr(fds[1]), "rank")
		defer model.Close()
		children[i] = stepped.Child{Socket: fds[0], Wait: readable(model)}
		ranks.Go(func() {
			defer rank.Close()
			runSteppedRank(l, fds[1], readable(rank), cfg, b)
		})
	}
	err := stepped.Run(cfg, children)
	ranks.Wait()
	return err
}

// readable returns a function that waits until a socket is readable, for which the Go runtime wakes a goroutine: a thread that waits in the
// kernel would keep one of the few that run goroutines from the others, until the runtime notices.
func readable(socket *os.File) func() {
	raw, err := socket.SyscallConn()
	return func() {
		if err == nil {
			err = raw.Read(func(fd uintptr) bool {
				n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
				return n > 0
			})
		}
	}
}

// runSteppedRank is the life of one rank, at its end of the socket.
func runSteppedRank(l *Launch, socket int, wait func(), cfg core.Config, b *board) {
	leave := func(int) { runtime.Goexit() }
	r, err := stepped.Connect(socket, stepped.Ways{Over: leave, Exit: leave}, wait)
	if err != nil {
		return // the job is over
	}
	defer func() {
		if p := recover(); p != nil {
			r.Abort(2, fmt.Sprintf("rank %d panicked: %v", r.Rank(), p))
		}
	}()
	j, err := core.JoinStepped(r, cfg)
	if err != nil {
		r.Abort(1, err.Error())
		return
	}
	var x *core.ExitError
	if err := j.Leave(run(l.Case, j, b)); err != nil && !errors.As(err, &x) {
		r.Abort(1, err.Error())
	}
}
