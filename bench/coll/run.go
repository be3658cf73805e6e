// Package coll measures collective communication: barriers, broadcasts, reductions to all
// and exchanges of all with all, beside the same calls of the MPI libraries that are
// installed.
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
	kind  kind
	// call performs one. dst and src have the operation's size, or that for each rank.
	call func(r *rank, dst, src []byte) error
}

// kind says what the size of an operation is.
type kind uint8

const (
	unsized kind = iota // it has none
	vector              // bytes of the vector that every rank has
	blocks              // bytes of the block that every rank has for each
)

// operations in the order of a report. An order names one by its place here.
var operations = []operation{
	{"barrier", "barrier", unsized, func(r *rank, _, _ []byte) error { return r.barrier() }},
	{"broadcast", "broadcast from rank 0, then a barrier", vector, func(r *rank, dst, src []byte) error {
		// Without the barrier the root would be several calls ahead, and this a pipeline.
		if err := r.ep.World().Broadcast(&r.ep.Context, 0, dst, src); err != nil {
			return err
		}
		return r.barrier()
	}},
	{"allreduce", "reduction to all, sum of uint64", vector, func(r *rank, dst, src []byte) error {
		return r.ep.World().AllReduce(&r.ep.Context, dst, src, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
	}},
	{"alltoall", "exchange of blocks, all with all; the size is a block's", blocks, func(r *rank, dst, src []byte) error {
		return r.ep.World().AllToAll(&r.ep.Context, dst, src)
	}},
}

func (r *rank) barrier() error { return r.ep.World().Barrier(&r.ep.Context) }

// Element is the size of an element of reductions: sizes are multiples of it.
const Element = 8

// MaxBlocks is the most, in bytes, that the blocks of a rank may come to; larger points are
// left out.
const MaxBlocks = 16 << 20

// bytes returns the length of the buffers of n ranks for a size.
func (op *operation) bytes(size, n int) int {
	if op.kind == blocks {
		return size * n
	}
	return size
}

// sizes returns those at which n ranks measure the operation.
func (op *operation) sizes(all []int, n int) []int {
	if op.kind == unsized {
		return []int{0}
	}
	return slices.DeleteFunc(slices.Clone(all), func(size int) bool {
		return op.kind == blocks && size*n > MaxBlocks
	})
}

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
	most := 0
	for i := range operations {
		if slices.Contains(p.Ops, operations[i].name) {
			for _, size := range operations[i].sizes(p.Sizes, job.Size()) {
				most = max(most, operations[i].bytes(size, job.Size()))
			}
		}
	}
	r.dst, r.src = runner.Buffer(most), runner.Buffer(most)
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
	op := &operations[order[0]]
	n := op.bytes(int(order[1]), r.Job.Size())
	for range order[2] {
		if err := op.call(r, r.dst[:n], r.src[:n]); err != nil {
			return err
		}
	}
	return nil
}
