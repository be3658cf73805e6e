package aqueduct

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/stepped"
)

// Under a model the ranks of a program in another language are processes of their own, so that each has the program's variables
// for itself. The process that the launcher has started makes them, as its children, and is the model's itself. Package core/stepped
// tells how they work together.

// Stepped has Init join, under a model, the job whose model's process is at the other end of the socket, which belongs to the job. It
// is for runtimes of other languages.
func Stepped(socket int) Option { return func(s *settings) { s.socket = &socket } }

// Step makes the calling process the model's process of a job whose ranks are the children pids of this process; sockets are this
// process's ends, in the same order. It returns the exit status of the job, when all children have ended, and has said on standard error
// why it is not 0. The environment says which model it is, as for Run.
func Step(sockets, pids []int, opts ...Option) (status int) {
	err := step(sockets, pids, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "aqueduct:", strings.TrimPrefix(err.Error(), "aqueduct: "))
	}
	return core.StatusOf(err)
}

func step(sockets, pids []int, opts []Option) error {
	s, err := settle(opts)
	if err != nil {
		return err
	}
	if s.mode != model || s.ranks != len(sockets) || s.ranks != len(pids) {
		return fmt.Errorf("aqueduct: %d processes for a job of %d ranks, which must be one under a model", len(pids), s.ranks)
	}
	done, err := profile(s.pprof, "model")
	if err != nil {
		return err
	}
	children := make([]stepped.Child, s.ranks)
	for i := range children {
		children[i] = stepped.Child{Socket: sockets[i], PID: pids[i]}
	}
	var places atomic.Pointer[func() []core.Place]
	defer dumpOnQuit(&places)()
	err = s.runModel(func(cfg core.Config) error { return stepped.Run(cfg, children) })
	return errors.Join(err, done())
}

// joinModel joins a modelled job as the process of one of its ranks.
func (s *settings) joinModel() (*core.Job, error) {
	socket := *s.socket
	var job *core.Job
	over := func(status int) {
		if job == nil {
			os.Exit(status)
		}
		go job.Exit(status) // which may take a while, and have handlers of signals run on this thread
		select {}
	}
	var wait func()
	if ppoll := s.cfg.Ppoll; ppoll != nil {
		fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
		wait = func() { ppoll(fds, nil) }
	}
	r, err := stepped.Connect(socket, stepped.Ways{Over: over, Exit: os.Exit}, wait)
	if err != nil {
		return nil, err
	}
	s.freezeRank(r.Rank())
	job, err = core.JoinStepped(r, s.cfg)
	return job, err
}
