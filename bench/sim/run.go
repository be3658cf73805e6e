// Package sim measures how fast jobs are simulated: events and turns of the virtual-time
// kernel, messages between ranks that have nothing but a network, beside SimGrid, and messages
// through the whole library. Its times are CPU time of the host, user and system, of all threads: wall
// time would tell what else runs there.
package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The operations.
const (
	Events       = "events"      // an event that schedules another one, among as many as there are ranks
	Switches     = "switches"    // a rank's turn: the others have theirs before its next one
	Ring         = "ring"        // a message to the right neighbour, on the bare network
	AllToAll     = "alltoall"    // a message to each of the other ranks in turn, on the bare network
	Stack        = "stack"       // a short AM to the right neighbour, over modelled loopback
	StackSCI     = "sci"         // the same over modelled SCI, on the machine scale
	StackMyrinet = "myrinet"     // and over GRIM on modelled Myrinet
	AllSCI       = "sci-all"     // a short AM to each of the other ranks in turn, over modelled SCI
	AllMyrinet   = "myrinet-all" // and over GRIM on modelled Myrinet
	Barrier      = "barrier"     // a whole job, in which a rank attaches and enters a barrier, on the same machine
)

// Ops lists the operations in the order of a report.
func Ops() []string {
	return []string{Events, Switches, Ring, AllToAll, Stack, StackSCI, StackMyrinet, AllSCI, AllMyrinet, Barrier}
}

// Plan is what to measure.
type Plan struct {
	Ops      []string // of Ops
	Ranks    []int    // of the kernel and the bare network
	Stack    []int    // numbers of ranks of the whole library
	Samples  int      // of each point
	Messages int      // or events or turns, of a sample, about
}

// speed is that of one sample.
type speed struct {
	ns     float64 // of CPU time for an operation
	events float64 // of the kernel for an operation, wake-ups included: in every sample the same
}

// operation is one of them. run does about n.
type operation struct {
	title   string
	run     func(ranks, n int) (speed, error)
	simgrid bool // SimGrid has the same
	library bool // it goes through the whole library
	whole   bool // an operation is a rank's part of a job, so that n does not count
}

var operations = map[string]operation{
	Events:       {"events of the kernel, as many under way as ranks", holdEvents, false, false, false},
	Switches:     {"turns of ranks", takeTurns, false, false, false},
	Ring:         {"messages of a ring on the bare network", ring, true, false, false},
	AllToAll:     {"messages of all to all on the bare network", allToAll, true, false, false},
	Stack:        {"short AMs of a ring over modelled loopback", stack("loopback", toNext), false, true, false},
	StackSCI:     {"short AMs of a ring over modelled SCI", stack("sci/scale", toNext), false, true, false},
	StackMyrinet: {"short AMs of a ring over modelled Myrinet", stack("myrinet", toNext), false, true, false},
	AllSCI:       {"short AMs of all to all over modelled SCI", stack("sci/scale", toEach), false, true, false},
	AllMyrinet:   {"short AMs of all to all over modelled Myrinet", stack("myrinet", toEach), false, true, false},
	Barrier:      {"ranks of jobs over modelled SCI that attach and enter a barrier", attach, false, true, true},
}

// Units of metrics.
const (
	simgridUnit = "x-simgrid"
	eventsUnit  = "events/s"
	cpuUnit     = "CPU-s"  // of a whole job
	memoryUnit  = "B/rank" // of the process, the most until then
)

// Run measures the plan and calls report for each series as it is finished.
func Run(ctx context.Context, p Plan, report func(*bench.Series) error) error {
	for _, name := range p.Ops {
		op, ok := operations[name]
		if !ok {
			return fmt.Errorf("sim: unknown operation %q; known: %v", name, Ops())
		}
		s := &bench.Series{
			Family: "Sim", Title: op.title, Params: []bench.Param{{Key: "op", Value: name}},
			Quantity: bench.Rate, Axis: bench.Ranks,
		}
		ranks := p.Ranks
		if op.library {
			ranks = p.Stack
		}
		for _, n := range ranks {
			r, err := p.point(ctx, name, op, n)
			if err != nil {
				return fmt.Errorf("sim: %s of %d ranks: %w", name, n, err)
			}
			s.Results = append(s.Results, r)
		}
		if op.simgrid {
			s.Against = []bench.Param{{Key: simgridUnit, Value: "SimGrid's CPU time for the same, by the faster of its network models CM02 and Constant"}}
		}
		if err := report(s); err != nil {
			return err
		}
	}
	return nil
}

// point measures an operation, between samples of SimGrid where this is installed.
func (p *Plan) point(ctx context.Context, name string, op operation, ranks int) (r bench.Result, err error) {
	n := max(p.Messages, ranks)
	if op.whole {
		n = ranks
	}
	var refs []bench.Reference
	if op.simgrid {
		f, err := floor.StartSimGrid(ctx, name, ranks)
		switch {
		case err == nil:
			defer func() { err = errors.Join(err, f.Close()) }()
			refs = append(refs, bench.Reference{Unit: simgridUnit, Meter: f.Meter(n), Peer: true})
		case !errors.Is(err, floor.ErrNoSimGrid):
			return r, err
		}
	}
	var events float64
	out, err := bench.Interleave(ctx, p.Samples, refs, func() (float64, error) {
		v, err := op.run(ranks, n)
		events = v.events
		return v.ns, err
	})
	for _, s := range out.Samples {
		s.Metrics[eventsUnit] = 1e9 * events / s.Ns
		if op.whole {
			s.Metrics[cpuUnit] = float64(ranks) * s.Ns / 1e9
			s.Metrics[memoryUnit] = float64(mostMemory()) / float64(ranks)
		}
	}
	return bench.Result{Ranks: ranks, Iters: n, Outcome: out}, err
}

// Missing says why there is no comparison, "" if there is one.
func Missing(ctx context.Context) string {
	f, err := floor.StartSimGrid(ctx, Ring, 2)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// timed runs a kernel that does n operations.
func timed(n int, k *vtime.Kernel) (speed, error) {
	start := cpuTime()
	err := k.Run()
	return speed{float64((cpuTime() - start).Nanoseconds()) / float64(n), float64(k.Events()) / float64(n)}, err
}

// cpuTime returns the CPU time that this process has taken, user and system, of all its threads: what
// collects garbage beside the simulation counts, and what waits does not.
func cpuTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // cannot fail with these arguments
	return time.Duration(t.Nano())
}

// mostMemory returns the most bytes of memory that this process has taken so far.
func mostMemory() int64 {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r) // cannot fail with these arguments
	return r.Maxrss << 10
}
