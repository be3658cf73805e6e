// Package aqueduct is the front door of the Aqueduct communication framework: it starts a
// program's part of a job and wires the conduit, the bootstrap and the ranks together.
//
// A program gives its main function to Run:
//
//	func main() {
//		aqueduct.Run(func(job *core.Job) error {
//			ep, err := job.Attach(core.AttachSpec{Handlers: handlers})
//			...
//		})
//	}
//
// The same text runs as n processes (aqrun -n 4 prog), as n goroutines or as n coroutines
// in virtual time of one process (aqrun --goroutines, aqrun --model loopback, or the
// options Goroutines and Model), and, started by itself, as a job of one. What the
// launcher says in the environment wins over options in the code, so that the user of a
// program decides how it runs.
//
// Package core is the Core API: active messages, segments, waiting.
package aqueduct

import (
	"errors"
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"

	// The conduits of the one binary.
	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

// Run runs body for every rank that lives in this process and returns when the whole job
// has ended well. If it has not (body returned an error or panicked in some rank, a rank
// called Exit or died), Run does not return: the process exits with the job's status, a
// message on standard error unless the launcher prints it.
func Run(body func(*core.Job) error, opts ...Option) {
	err := Launch(body, opts...)
	if err == nil {
		return
	}
	if !spawner.Launched() {
		fmt.Fprintln(os.Stderr, "aqueduct:", err)
	}
	os.Exit(core.StatusOf(err))
}

// Launch is Run for callers that outlive the job: it returns what ended the job, nil for a
// good end or Exit(0). A rank that is a process of its own still exits within Exit.
func Launch(body func(*core.Job) error, opts ...Option) error {
	s, err := settle(opts)
	if err != nil {
		return err
	}
	switch s.mode {
	case goroutines:
		return core.RunGoroutines(s.ranks, s.cfg, body)
	case model:
		return core.RunModel(s.ranks, s.cfg, body)
	}
	boot, err := connect()
	if err != nil {
		return err
	}
	return core.Main(boot, s.cfg, body)
}

// Init joins the job as a live rank without giving up the main function, for runtimes that
// do not own it. The caller ends with Job.Leave. A program started by itself is a job of
// one. Virtual time and goroutine ranks need Run.
func Init(opts ...Option) (*core.Job, error) {
	s, err := settle(opts)
	if err != nil {
		return nil, err
	}
	if s.mode != processes {
		return nil, errors.New("aqueduct: Init is for ranks that are processes; goroutine ranks and the model need Run")
	}
	boot, err := connect()
	if err != nil {
		return nil, err
	}
	return core.Join(boot, s.cfg), nil
}

// connect finds what started this process; nothing means a job of one.
func connect() (core.Bootstrap, error) {
	boot, err := spawner.Connect()
	if errors.Is(err, spawner.ErrNotLaunched) {
		return core.Alone(), nil
	}
	return boot, err
}
