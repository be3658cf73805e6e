// Package compare measures every conduit that can be used here, live and on models, by the benchmarks of am, rma, coll and kernel, and compares
// what two such measurements say.
//
// The machine drifts, so it is measured in rounds: every round measures the floors and peers, and then runs one job of each conduit,
// operation family and number of ranks, with a few samples, and drift hits all alike. A result is the samples of all rounds. A ratio is
// that of a sample to the median of its floor or peer in the same round. Each job of a round is a task. What a task has measured is
// stored as one piece when it has ended, so that a comparison that was interrupted is continued with the tasks that are missing.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
)

// Extent is how much is measured.
type Extent struct {
	Name    string // with what differs from the extent of that name
	Ops     []string
	Sizes   []int         // payload bytes, multiples of coll.Element
	Ranks   []int         // of collectives and kernels, and of start-up, the largest of them
	Rounds  int           // live; a model's results are all alike, and have one
	Peers   int           // rounds, the last, in which other projects' programs are measured
	Samples int           // of a round, live
	Weight  float64       // see runner.Plan
	Limit   time.Duration // of a task: one that takes longer is ended, and has what it has measured
	Budget  time.Duration // when so much has passed no further task begins
}

// Ops lists the operations in the order of a report. The barrier of two ranks is that of Coll.
func Ops() []string {
	return slices.Concat(pairOps, oneSided(), coll.Ops(), kernel.Ops(), []string{am.Startup})
}

var pairOps = []string{am.PingPong, am.Flood, am.Stream, am.Bandwidth, am.LogGP}

func oneSided() []string {
	return slices.DeleteFunc(rma.Ops(), func(op string) bool { return op == "barrier" })
}

// Quick, Default and Full are how much there is to choose from.
var (
	Quick = Extent{
		Name: "quick", Ops: []string{am.PingPong, am.Flood, am.LogGP, "put", "get", "put-nb", "fetchadd", "barrier", "allreduce", kernel.Gups, kernel.Stencil, am.Startup},
		Sizes: []int{8, 64 << 10}, Ranks: []int{2, 4}, Rounds: 2, Peers: 1, Samples: 3, Weight: 0.1,
		Limit: 10 * time.Second, Budget: 100 * time.Second,
	}
	Default = Extent{
		Name: "default", Ops: Ops(), Sizes: []int{8, 512, 4 << 10, 64 << 10, 1 << 20}, Ranks: []int{2, 4, 8},
		Rounds: 4, Peers: 2, Samples: 5, Weight: 0.5, Limit: time.Minute, Budget: 10 * time.Minute,
	}
	Full = Extent{
		Name: "full", Ops: Ops(), Sizes: []int{8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20}, Ranks: []int{2, 4, 8, 16},
		Rounds: 10, Peers: 10, Samples: 5, Weight: 1, Limit: 20 * time.Minute, Budget: 24 * time.Hour,
	}
)

// hasPeers reports whether other projects' programs are measured in a round: in the last ones, as they take longest, and without them
// there are results of all conduits after the first.
func (e *Extent) hasPeers(round int) bool { return round > e.Rounds-e.Peers }

// A Task is one job of one round, or one measurement of references.
type Task struct {
	Subject *Subject
	Family  string // "am", "rma", "coll", "kernel", "start", "references"
	Ranks   int
	Round   int // from 1
	Extent  *Extent

	plan runner.Plan
}

// Name returns the task's name, which no other task of the comparison has.
func (t *Task) Name() string {
	return fmt.Sprintf("%s: %s %s, %s of %d ranks, round %d", t.Extent.Name, t.Subject.Mode(), t.Subject.Name, t.Family, t.Ranks, t.Round)
}

// Tasks returns the tasks in the order in which they are carried out: models, to which time means nothing, and then round by round what is
// live in the order of the subjects, so that references had better be first. Missing says which are left out, as a conduit cannot have so
// many ranks.
func Tasks(subjects []Subject, e *Extent) (tasks []Task, missing []string) {
	add := func(s *Subject, round int) {
		for _, t := range s.tasks(e, round) {
			if err := t.fits(); err == nil {
				tasks = append(tasks, t)
			} else if round == 1 {
				missing = append(missing, fmt.Sprintf("%s %s, %s of %d ranks: %v", s.Mode(), s.Name, t.Family, t.Ranks, err))
			}
		}
	}
	for i := range subjects {
		if s := &subjects[i]; s.Modelled() {
			add(s, 1)
		}
	}
	for round := 1; round <= e.Rounds; round++ {
		for i := range subjects {
			s := &subjects[i]
			if s.Modelled() || !e.hasPeers(round) && s.peers {
				continue
			}
			add(s, round)
		}
	}
	return tasks, missing
}

// fits returns why the conduit cannot have the task's number of ranks, or nil.
func (t *Task) fits() error {
	d, err := core.DriverByName(t.plan.Conduit)
	if err != nil || d.Fits == nil || t.Subject.references {
		return err
	}
	resolve := d.LiveProfile
	if t.plan.Modelled() {
		resolve = d.ModelProfile
	}
	profile, err := resolve(t.plan.Profile)
	if err != nil {
		return err
	}
	return d.Fits(profile, t.Ranks, t.plan.Settings)
}

// tasks returns those of a subject in a round.
func (s *Subject) tasks(e *Extent, round int) []Task {
	p := s.Plan
	p.Sizes, p.Samples, p.Weight, p.Alone = e.Sizes, e.Samples, e.Weight, true
	if p.Modelled() {
		p.Samples = 1
	}
	var tasks []Task
	add := func(family string, known []string, ranks ...int) {
		q := p
		q.Ops = slices.DeleteFunc(slices.Clone(known), func(op string) bool { return !slices.Contains(e.Ops, op) })
		if len(q.Ops) > 0 {
			for _, n := range ranks {
				tasks = append(tasks, Task{s, family, n, round, e, q})
			}
		}
	}
	if s.references {
		add("references", Ops(), slices.Max(e.Ranks))
		return tasks
	}
	add("am", pairOps, 2)
	add("rma", oneSided(), 2)
	add("coll", coll.Ops(), e.Ranks...)
	add("kernel", kernel.Ops(), e.Ranks...)
	if !p.Modelled() { // the start of a job takes no virtual time
		add("start", []string{am.Startup}, slices.Max(e.Ranks))
	}
	return tasks
}

// ErrLimit says that a task took longer than its extent allows.
var ErrLimit = errors.New("it took too long")

// Run carries the task out, and returns its series, with ErrLimit those of them that it had time for. Those of conduits are named by the subject, in place of its conduit and profile, and
// say whether they are live.
func (t *Task) Run(ctx context.Context) (all []*bench.Series, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, t.Extent.Limit, ErrLimit)
	defer cancel()
	keep := func(s *bench.Series) error {
		if len(s.Results) > 0 { // a category may have no size that it can carry
			t.Subject.label(s)
			all = append(all, s)
		}
		return nil
	}
	switch t.Family {
	case "references":
		err = t.references(limited, keep)
	case "am", "start":
		err = am.Run(limited, am.Plan{Plan: t.plan, Ranks: []int{t.Ranks}}, keep)
	case "rma":
		err = rma.Run(limited, t.plan, keep)
	case "kernel":
		err = kernel.Run(limited, t.plan, t.Ranks, keep)
	default:
		err = coll.Run(limited, t.plan, t.Ranks, keep)
	}
	switch {
	case err == nil && len(all) == 0:
		err = errors.New("nothing was measured")
	case err != nil && errors.Is(context.Cause(limited), ErrLimit):
		err = fmt.Errorf("%w: more than %v", ErrLimit, t.Extent.Limit)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", t.Name(), err)
	}
	return all, err
}

// label names a series by the subject; references have named theirs.
func (s *Subject) label(series *bench.Series) {
	var params []bench.Param
	for _, p := range series.Params {
		switch p.Key {
		case "profile", "threads":
			continue
		case "conduit":
			if !s.references {
				p.Value = s.Name
			}
		}
		params = append(params, p)
	}
	series.Params = append(params, bench.Param{Key: "mode", Value: s.Mode()})
}

// Header returns the conditions of the task on a machine.
func (t *Task) Header(machine bench.Header) *bench.Header {
	h := machine
	h.Conduit, h.Profile, h.Threads, h.Mode = t.plan.Conduit, t.plan.Profile, t.plan.Threads.String(), t.Subject.Mode()
	h.Ranks, h.Pinning = t.Ranks, "none"
	if t.Subject.references {
		h.Conduit, h.Profile, h.Threads = "", "", ""
	}
	if t.Family != "start" && len(t.plan.CPUs) > 0 {
		h.Pinning = fmt.Sprint(t.plan.Spread(t.Ranks))
	}
	h.Method = fmt.Sprintf("%s: %d rounds of %d samples of about %v, each after a warm-up as long; all conduits in turn in each round; "+
		"ratios to the median of the floor in the round; windows of 64 puts, gets and lent Longs",
		t.Extent.Name, t.Extent.Rounds, t.Extent.Samples, time.Duration(t.Extent.Weight*float64(10*time.Millisecond)))
	if t.Subject.Modelled() {
		h.Method = t.Extent.Name + ": in virtual time, one sample"
	}
	return &h
}
