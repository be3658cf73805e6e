// Package kernel measures small programs that ranks carry out together: the random updates of HPC Challenge (GUPS), and steps of a
// stencil whose ranks exchange halos. Examples gups and stencil are the same as programs.
package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

const verb = "kernel"

// The operations.
const (
	Gups    = "gups"    // an update of a random word of a table that all ranks hold
	Stencil = "stencil" // a step of a five-point stencil
)

// Ops lists the operations in the order of a report.
func Ops() []string { return []string{Gups, Stencil} }

// Quantity returns what the time of an operation tells.
func Quantity(op string) bench.Quantity {
	if op == Gups {
		return bench.Rate
	}
	return bench.Duration
}

// Run measures the plan with a job of n ranks and calls report for each series as it is finished.
func Run(ctx context.Context, p runner.Plan, n int, report func(*bench.Series) error) error {
	return runner.Launch(ctx, verb, p, n, report)
}

// RankMain returns unless this process was started as a rank of this benchmark.
func RankMain() { runner.RankMain(verb, runRank) }

// rank is the state of one rank.
type rank struct {
	runner.Rank
	ep    *extended.Endpoint
	table table
	plate *plate
}

// An operation carries out orders.
type operation struct {
	name, title string
	least       int                    // operations of all ranks together of a sample, for each rank
	do          func(*rank, int) error // so many operations, on every rank
	check       func(*rank) error      // whether what was computed is right, on every rank, after an even number of equal orders
}

// operations in the order of a report. An order names one by its place here.
var operations = []operation{
	{Gups, fmt.Sprintf("updates of random words, %d of them at each rank, %d at most waiting in a rank", tableWords, lookAhead), lookAhead, (*rank).update, (*rank).checkTable},
	{Stencil, fmt.Sprintf("steps of a stencil, %d × %d cells at each rank, halos put and a barrier", plateRows, plateCols), 1, (*rank).steps, (*rank).checkPlate},
}

func runRank(p *runner.Plan, job *core.Job) error {
	r := &rank{Rank: runner.Rank{Plan: p, Job: job}}
	r.Do = r.carryOut
	if err := r.Pin(); err != nil {
		return err
	}
	var err error
	if r.ep, err = extended.Attach(job, core.AttachSpec{Handlers: r.Handlers(r.table.handlers()...)}); err != nil {
		return err
	}
	r.table.fill(r.ep)
	if slices.Contains(p.Ops, Stencil) {
		if r.plate, err = newPlate(r.ep); err != nil {
			return err
		}
	}
	return r.Run(r.ep.Core(), r.measure)
}

// measure is rank 0's part.
func (r *rank) measure() error {
	for _, name := range r.Ops {
		i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
		if i < 0 {
			return fmt.Errorf("kernel: unknown operation %q; known: %v", name, Ops())
		}
		if err := r.measureOp(i); err != nil {
			return fmt.Errorf("kernel: %s: %w", name, err)
		}
	}
	return nil
}

// measureOp measures an operation, has every rank check what it has computed, and emits the series.
func (r *rank) measureOp(i int) error {
	op, ranks := &operations[i], r.Job.Size()
	s := &bench.Series{Family: "Kernel", Title: op.title, Params: r.Params(op.name), Quantity: Quantity(op.name), Axis: bench.Ranks}
	work := func(n int) error { return r.Together(uint32(i), uint32(n)) }
	n, err := r.Calibrate(work)
	if err != nil {
		return err
	}
	n = max(n, op.least*ranks)
	if err := r.Point(s, bench.Result{Ranks: ranks, Iters: n}, r.refs(op), work); err != nil {
		return err
	}
	if err := r.Together(uint32(i), check); err != nil {
		return err
	}
	return runner.Emit(s)
}

// refs returns what an operation is compared with: libraries of other projects.
func (r *rank) refs(op *operation) (refs []runner.Ref) {
	n := r.Job.Size()
	cpus := r.Spread(n)
	if cpus == nil {
		return nil
	}
	if n > 1 && n <= len(r.CPUs) {
		refs = append(refs, runner.Placement(r.Pair()))
	}
	for _, p := range coll.Peers(r.Plan) {
		if p.Missing == "" {
			refs = append(refs, p.On(r.Hosts, n).Ref(op.name, 0, cpus, n > len(r.CPUs)))
		}
	}
	return refs
}

// check, in the place of a number of operations, orders a check.
const check = 0

// carryOut carries out an order: operation, and number of them.
func (r *rank) carryOut(order []uint32) error {
	op := &operations[order[0]]
	if order[1] == check {
		return op.check(r)
	}
	return op.do(r, int(order[1]))
}

func (r *rank) barrier() error { return r.ep.World().Barrier(&r.ep.Context) }
