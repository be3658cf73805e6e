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
// options Goroutines and Model; docs/model.md says what the model asks of programs), and, started by itself, as a job of one. What the
// launcher says in the environment wins over options in the code, so that the user of a
// program decides how it runs. In virtual time only the goroutine that runs the body may use
// the job; live, any number, each with a context of its own (core.Many).
//
// Package core is the Core API: active messages, segments, waiting.
//
// # Environment
//
//	AQUEDUCT_CONDUIT   name of the conduit
//	AQUEDUCT_PROFILE   a profile of the conduit; under a model, one of its models
//	AQUEDUCT_SETTINGS  further settings of the conduit: key=value,key=value
//	AQUEDUCT_SEGMENT   size of a rank's segment, whatever the program asks for: 65536, 64MB,
//	                   1.5GB, 50%
//	AQUEDUCT_LIBDIR    further folders in which the shims of conduit mpi are looked for
//	AQUEDUCT_REACH     on (default) or off: off hides the direct view of peers' segments,
//	                   which conduits over shared memory offer, so that the path without
//	                   it can be tested and compared
//	AQUEDUCT_NATIVE    on (default) or off: off does without the puts, gets, atomics
//	                   and collective calls that a conduit's network carries out itself, for
//	                   the same purpose
//	AQUEDUCT_C_FAST    on (default) or off: off has every call of a C program cross into Go, for
//	                   the same purpose
//	AQUEDUCT_NEAR      auto (default), on or off: whether ranks of one host talk through memory in
//	                   a job over a network, as conduit nbrhd has it. auto: in jobs of several
//	                   hosts, so that a job of one over udp measures the network
//	AQUEDUCT_COLLECTIVES  algorithms of collectives to be used where they apply, e.g.
//	                   allreduce=ring,broadcast=knomial:4
//	AQUEDUCT_THREADS   many (default) or single: see core.Threads
//	AQUEDUCT_DEBUG     1: check what handlers and callers may do; misuse ends the job
//	AQUEDUCT_VERBOSE   1: also report what is of interest to those who look for a reason, such
//	                   as the addresses of ranks
//	AQUEDUCT_STALL     report, once in a job, a live wait that takes longer, and where all
//	                   ranks are: a time, by default 10s; off or 0: never. Model: how long a
//	                   rank may block other than through the job, by default 2s
//	AQUEDUCT_SEED      model: seed of the random numbers
//	AQUEDUCT_LOSE      model: ranks that are lost, and when: RANK@TIME,RANK@TIME
//	AQUEDUCT_STATS     where figures of the job go: table (on standard error), or files such as job.txt,
//	                   job.jsonl and job.svg, separated by commas; see docs/watching.md
//	AQUEDUCT_TRACE     FILE.json: receives the events of all ranks at the end of the job, in the trace
//	                   event format; any other file, model: receives a line for everything that happens
//	AQUEDUCT_TRACE_EVENTS  how many events each rank keeps, the latest; by default 16384
//	AQUEDUCT_TRACE_SAMPLE  N: only every Nth message and wait becomes an event
//	AQUEDUCT_MODEL_REPORT  1: print at the end how the model did, on standard error
//	AQUEDUCT_GRACE     how long ranks may live on when the job has failed, e.g. 1s
//	AQUEDUCT_FREEZE    ranks that wait for a debugger before they begin: all, or numbers such as
//	                   0,3; ranks that share a process wait together. docs/debugging.md
//	AQUEDUCT_FREEZE_ON_ERROR  1: a rank that is about to end the job by an error, a panic or
//	                   misuse waits for a debugger first
//	AQUEDUCT_PPROF     directory that receives a CPU profile of each rank that Run or Launch has, as
//	                   rank.N.pprof, or rank.all.pprof where the ranks share a process; of the model's process
//	                   beside ranks in C, as rank.model.pprof
//	AQUEDUCT_MODE      processes, goroutines or model
//	AQUEDUCT_RANKS     with goroutines or model: how many ranks share the process
//	AQUEDUCT_START_TIMEOUT  how long ranks wait for each other to join, if aqrun has not started them, by default 5m
//
// What starts the ranks of a static job sets AQUEDUCT_RANK, AQUEDUCT_SIZE, AQUEDUCT_ROOT and
// AQUEDUCT_KEY_FILE, and AQUEDUCT_HOST_TIMEOUT if it likes; see docs/static-jobs.md.
//
// The launcher sets further ones for itself. An empty value counts as none. A variable
// that begins with AQUEDUCT_ and means nothing is probably misspelt: rank 0 warns of it.
package aqueduct

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/pmi"

	// The conduits of the one binary.
	_ "github.com/aqueduct-go/aqueduct/conduits/amfamily/conduit"
	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	_ "github.com/aqueduct-go/aqueduct/conduits/mpi/scampi"
	_ "github.com/aqueduct-go/aqueduct/conduits/myrinet"
	_ "github.com/aqueduct-go/aqueduct/conduits/nbrhd"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

// Run runs body for every rank that lives in this process and returns when the whole job
// has ended well. If it has not (body returned an error or panicked in some rank, a rank
// called Exit or died), Run does not return: the process exits with the job's status, a
// message on standard error unless the launcher prints it. Ranks that are goroutines and
// compute on end with the process, after the grace period.
func Run(body func(*core.Job) error, opts ...Option) {
	told, exit, err := launch(body, opts)
	if err == nil {
		return
	}
	if !told {
		fmt.Fprintln(os.Stderr, "aqueduct:", strings.TrimPrefix(err.Error(), "aqueduct: "))
	}
	exit(core.StatusOf(err))
}

// Launch is Run for callers that outlive the job: it returns what ended the job, nil for a
// good end or Exit(0). A rank that is a process of its own still exits within Exit; ranks
// that are goroutines may outlive the job, see core.RunGoroutines.
func Launch(body func(*core.Job) error, opts ...Option) error {
	_, _, err := launch(body, opts)
	return err
}

// launch is Launch; told reports that the launcher knows of the error, and prints it, and exit
// is how the process leaves.
func launch(body func(*core.Job) error, opts []Option) (told bool, exit func(int), err error) {
	s, err := settle(opts)
	if err != nil {
		return false, os.Exit, err
	}
	if s.mode != processes {
		s.freezeProcess()
		done, failed := profile(s.pprof, "all")
		if failed != nil {
			return false, os.Exit, failed
		}
		defer func() {
			if failed := done(); err == nil {
				err = failed
			}
		}()
	}
	var places atomic.Pointer[func() []core.Place]
	switch s.mode {
	case goroutines:
		defer dumpOnQuit(&places)()
		defer s.show(&places)()
		return false, os.Exit, core.RunGoroutines(s.ranks, s.cfg, body, core.WithSurvey(func(f func() []core.Place) { places.Store(&f) }))
	case model:
		defer dumpOnQuit(&places)()
		return false, os.Exit, s.runModel(func(cfg core.Config) error { return core.RunModel(s.ranks, cfg, body) })
	}
	boot, launched, err := s.connect()
	if err != nil {
		return false, os.Exit, err
	}
	s.freezeRank(boot.Rank())
	done, err := profile(s.pprof, strconv.Itoa(int(boot.Rank())))
	if err != nil {
		boot.Abort(1, err.Error())
		return launched, core.ExitOf(boot), err
	}
	err = core.Main(boot, s.cfg, body)
	if failed := done(); err == nil {
		err = failed
	}
	return launched, core.ExitOf(boot), err
}

// Init joins the job as a live rank without giving up the main function, for runtimes that
// do not own it. The caller ends with Job.Leave. A program started by itself is a job of
// one. Virtual time and goroutine ranks need Run.
func Init(opts ...Option) (*core.Job, error) {
	s, err := settle(opts)
	if err != nil {
		return nil, err
	}
	if s.mode == model && s.socket != nil {
		return s.joinModel()
	}
	if s.mode != processes {
		return nil, errors.New("aqueduct: Init is for ranks that are processes; goroutine ranks and the model need Run")
	}
	boot, _, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.freezeRank(boot.Rank())
	return core.Join(boot, s.cfg), nil
}

// Launched reports whether a launcher has started this process, which then prints what ends the job.
func Launched() bool {
	return spawner.Launched() || outsider(os.Getenv("AQUEDUCT_CONDUIT")) != nil
}

// connect joins the job of the launcher that started this process, aqrun or else another; if there is
// none, it makes a job of one.
func (s *settings) connect() (boot core.Bootstrap, launched bool, err error) {
	if l := s.by; l != nil {
		boot, err = l.Connect()
		if err != nil {
			err = fmt.Errorf("%w; aqrun starts jobs without %s", err, l.Name)
		}
	} else {
		boot, err = spawner.Connect()
	}
	launched = err == nil
	if errors.Is(err, spawner.ErrNotLaunched) {
		boot, err = core.Alone(), nil
	}
	if err == nil && s.cfg.Conduit == "" {
		s.cfg.Conduit = conduitOf(boot)
	}
	return boot, launched, err
}

// conduitOf returns the conduit of ranks that are processes, if nobody has named one: sci, or udp between hosts.
func conduitOf(boot core.Bootstrap) string {
	if len(boot.Local()) < boot.Size() {
		return "udp"
	}
	return "sci"
}

// throughPMI is a launcher that is no conduit's.
var throughPMI = core.Launcher{Name: "a launcher that speaks PMI or PMIx", Rank: pmi.Rank, Connect: pmi.Connect}

// launched reports whether aqrun or another launcher has started this process as one of several.
func launched() bool {
	byOther := func(l *core.Launcher) bool { _, launched := l.Rank(); return launched }
	return spawner.Launched() || byOther(&throughPMI) || slices.ContainsFunc(core.Launchers(), byOther)
}

// outsider returns the launcher other than aqrun that has started this process as one of several, nil
// if none has. A launcher of an MPI library may speak PMI or PMIx too. Then ranks over that library find each other by MPI, which
// has the launcher for itself, as do those of a program that calls MPI itself; so do, if the library can be used, ranks whose
// conduit, "", nobody has named, unless the launcher is no library's, as srun, and those that lack what it takes to speak PMIx. All
// others do by PMI.
func outsider(conduit string) *core.Launcher {
	if spawner.Launched() {
		return nil
	}
	_, byPMI := pmi.Rank()
	for _, l := range core.Launchers() {
		if _, launched := l.Rank(); !launched {
			continue
		}
		if !byPMI || l.Conduit == conduit || l.Wanted != nil && l.Wanted() {
			return l
		}
		own := l.Own == nil || l.Own()
		if (conduit == "" && own || pmi.Usable() != nil) && usable(l.Conduit) {
			return l
		}
	}
	if byPMI {
		return &throughPMI
	}
	return nil
}

// usable reports whether a conduit can be used here.
func usable(conduit string) bool {
	d, err := core.DriverByName(conduit)
	return err == nil && (d.Check == nil || d.Check(nil, nil) == nil)
}
