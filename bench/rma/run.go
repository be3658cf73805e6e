// Package rma measures one-sided communication between two ranks: puts and gets, blocking
// and with events, of memory and of values, atomics, and the barrier that orders them.
package rma

import (
	"context"
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

const verb = "rma"

// operations in the order of a report: what an operation is called, and how rank 0
// measures it and emits its series.
var operations = []struct {
	name    string
	measure func(r *rank, name string) error
}{
	{"put", transfer("blocking put", bench.Access, (*rank).put, against.References.Put, (*rank).storeLoops)},
	{"put-nb", transfer(fmt.Sprintf("puts with events, %d under way", window), bench.Stream, (*rank).putNB, against.References.PutNB, (*rank).storeLoops)},
	{"get", transfer("blocking get", bench.Access, (*rank).get, against.References.Get, (*rank).loadLoops)},
	{"get-nb", transfer(fmt.Sprintf("gets with events, %d under way", window), bench.Stream, (*rank).getNB, against.References.GetNB, (*rank).loadLoops)},
	{"putval", onWord("blocking put of a value", (*rank).putValue, (*rank).putValueRefs)},
	{"getval", onWord("blocking get of a value", (*rank).getValue, (*rank).getValueRefs)},
	{"fetchadd", onWord("fetch-and-add of int64", (*rank).fetchAdd, (*rank).fetchAddRefs)},
	{"barrier", (*rank).barrier},
}

// Ops lists the operations in the order of a report: put and get are blocking, put-nb and
// get-nb a window of operations with events, putval, getval and fetchadd always of 8 bytes.
func Ops() []string {
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

// Run measures the plan and calls report for each series as it is finished.
func Run(ctx context.Context, p runner.Plan, report func(*bench.Series) error) error {
	p.Idle = runner.Soon
	return runner.Launch(ctx, verb, p, 2, report)
}

// RankMain returns unless this process was started as a rank of this benchmark.
func RankMain() { runner.RankMain(verb, runRank) }

// rank is the state of one rank.
type rank struct {
	runner.Rank
	ep       *extended.Endpoint
	counters *extended.Atomic[int64]
	private  []byte // the other side of puts and gets
	near     []byte // rank 1's segment as memory of this process, or nil
}

func runRank(p *runner.Plan, job *core.Job) error {
	r := &rank{Rank: runner.Rank{Plan: p, Job: job}, private: runner.Buffer(runner.MaxSize)}
	r.Do = r.barriers
	if err := r.Pin(); err != nil {
		return err
	}
	var err error
	if r.ep, err = extended.Attach(job, core.AttachSpec{Handlers: r.Handlers()}); err != nil {
		return err
	}
	if r.counters, err = extended.NewAtomic[int64](&r.ep.Context, r.ep.World(), extended.FAdd); err != nil {
		return err
	}
	r.near = r.ep.Local(peer)
	return r.Run(r.ep.Core(), r.measure)
}

// measure is rank 0's part.
func (r *rank) measure() error {
	for _, name := range r.Ops {
		known := false
		for _, op := range operations {
			if op.name != name {
				continue
			}
			known = true
			if err := op.measure(r, name); err != nil {
				return fmt.Errorf("rma: %s: %w", name, err)
			}
		}
		if !known {
			return fmt.Errorf("rma: unknown operation %q; known: %v", name, Ops())
		}
	}
	return nil
}
