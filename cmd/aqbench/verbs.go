package main

import (
	"context"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// verb is a family of benchmarks.
type verb struct {
	name, about string
	ops         []string
	sizes       []int // payload bytes by default
	quick       []int // with --quick
	multiple    int   // of which sizes must be multiples
	np          func(cpus int) []int
	parts       func(o *options, p runner.Plan) []part
	peers       func() string // which other implementations are compared with; nil: none
}

// part is what is measured under one header.
type part struct {
	ranks int
	cpus  []int // of these ranks; nil: not pinned
	run   func(ctx context.Context, report func(*bench.Series) error) error
}

var verbs = []verb{
	{
		name: "am", about: "active messages: latency, flood rate, bandwidth, empty polls, start-up, exchanges",
		ops: am.Ops(), sizes: []int{8, 512, 4096, 65536, 1 << 20}, quick: []int{8, 65536}, multiple: 1,
		np:    func(cpus int) []int { return []int{4 * cpus} },
		parts: amParts,
	},
	{
		name: "rma", about: "one-sided: puts, gets, barrier of two ranks",
		ops: rma.Ops(), sizes: []int{8, 64, 512, 4096, 65536, 1 << 20, 4 << 20}, quick: []int{8, 65536}, multiple: 1,
		parts: func(_ *options, p runner.Plan) []part {
			return []part{{2, p.Spread(2), func(ctx context.Context, report func(*bench.Series) error) error {
				return rma.Run(ctx, p, report)
			}}}
		},
	},
	{
		name: "coll", about: "collectives: barrier, broadcast, all-reduce",
		ops: coll.Ops(), sizes: []int{8, 65536, 1 << 20}, quick: []int{8, 65536}, multiple: coll.Element,
		np:    func(cpus int) []int { return slices.Compact([]int{2, 4, max(4, 4*cpus)}) },
		parts: collParts,
		peers: coll.Describe,
	},
}

// amParts puts what two ranks do, or ranks that are not pinned, before the exchanges.
func amParts(o *options, p runner.Plan) []part {
	measure := func(ops []string, n int) func(context.Context, func(*bench.Series) error) error {
		q := am.Plan{Plan: p, Ranks: o.ranks, N: n}
		q.Ops = ops
		return func(ctx context.Context, report func(*bench.Series) error) error { return am.Run(ctx, q, report) }
	}
	var parts []part
	few := slices.DeleteFunc(slices.Clone(p.Ops), func(op string) bool { return op == am.Exchange })
	if len(few) > 0 {
		parts = append(parts, part{2, p.Spread(2), measure(few, 0)})
	}
	if len(few) < len(p.Ops) {
		for _, n := range o.np {
			parts = append(parts, part{n, p.Spread(n), measure([]string{am.Exchange}, n)})
		}
	}
	return parts
}

func collParts(o *options, p runner.Plan) []part {
	var parts []part
	for _, n := range o.np {
		parts = append(parts, part{n, p.Spread(n), func(ctx context.Context, report func(*bench.Series) error) error {
			return coll.Run(ctx, p, n, report)
		}})
	}
	return parts
}
