// Package coll measures collective communication: barriers, broadcasts and reductions to
// all, beside the same calls of the MPI libraries that are installed.
package coll

import (
	"context"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

const verb = "coll"

// operation is a collective call.
type operation struct {
	name  string // here, and for the peer program
	title string
	sized bool
	// call performs one. dst and src have the operation's size.
	call func(r *rank, dst, src []byte) error
}

// operations in the order of a report. An order names one by its place here.
var operations = []operation{
	{"barrier", "barrier", false, func(r *rank, _, _ []byte) error { return r.barrier() }},
	{"broadcast", "broadcast from rank 0, then a barrier", true, func(r *rank, dst, src []byte) error {
		// Without the barrier the root would be several calls ahead, and this a pipeline.
		if err := r.ep.World().Broadcast(&r.ep.Context, 0, dst, src); err != nil {
			return err
		}
		return r.barrier()
	}},
	{"allreduce", "reduction to all, sum of uint64", true, func(r *rank, dst, src []byte) error {
		return r.ep.World().AllReduce(&r.ep.Context, dst, src, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
	}},
}

func (r *rank) barrier() error { return r.ep.World().Barrier(&r.ep.Context) }

// Element is the size of an element of reductions: sizes are multiples of it.
const Element = 8

// Ops lists the operations in the order of a report.
func Ops() []string {
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

// Run measures the plan with a job of n ranks and calls report for each series as it is
// finished.
func Run(ctx context.Context, p runner.Plan, n int, report func(*bench.Series) error) error {
	return runner.Launch(ctx, verb, p, n, report)
}

// RankMain returns unless this process was started as a rank of this benchmark.
func RankMain() { runner.RankMain(verb, runRank) }

// rank is the state of one rank.
type rank struct {
	runner.Rank
	ep       *extended.Endpoint
	dst, src []byte
}

func runRank(p *runner.Plan, job *core.Job) error {
	r := &rank{Rank: runner.Rank{Plan: p, Job: job}}
	if len(p.Sizes) > 0 {
		most := slices.Max(p.Sizes)
		r.dst, r.src = runner.Buffer(most), runner.Buffer(most)
	}
	r.Do = r.calls
	if err := r.Pin(); err != nil {
		return err
	}
	var err error
	if r.ep, err = extended.Attach(job, core.AttachSpec{Handlers: r.Handlers()}); err != nil {
		return err
	}
	return r.Run(r.ep.Core(), r.measure)
}

// calls carries out an order: operation, size, count.
func (r *rank) calls(order []uint32) error {
	op, size := &operations[order[0]], order[1]
	for range order[2] {
		if err := op.call(r, r.dst[:size], r.src[:size]); err != nil {
			return err
		}
	}
	return nil
}
