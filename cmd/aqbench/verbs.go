package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/tune"
)

// verb is a family of benchmarks.
type verb struct {
	name, about string
	ops         []string
	sizes       []int // payload bytes by default
	quick       []int // with --quick
	multiple    int   // of which sizes must be multiples
	// np returns the usual numbers of ranks, and bounds how many an operation may have; pairs
	// have neither: they are of two ranks.
	np     func(cpus int) []int
	bounds func(op string) (least, most int)
	ranks  string // what the help says of both
	parts  func(o *options, p runner.Plan) []part
	peers  func(p *runner.Plan) string // which other implementations are compared with; nil: none
	method string                      // of a sample: what stands around it
	// result writes what is made of the measurements; nil: nothing is.
	result func(o *options, stdout io.Writer) error
	// own adds to the command what it does and its options, of a verb that measures no job, and so has none of the above but its
	// name.
	own func(cmd *cobra.Command)
}

// between is the method of verbs whose samples have references.
const between = "each between two of its references"

// powers are sizes a factor of four apart, from 8 bytes to 2 MiB.
var powers = []int{8, 32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20}

// part is what is measured under one header.
type part struct {
	ranks []int // numbers of them
	cpus  []int // of ranks of one number; nil: not pinned
	run   func(ctx context.Context, report func(*bench.Series) error) error
}

var verbs = []verb{
	{
		name: "am", about: "active messages: latency, flood rate, bandwidth, empty polls, start-up, exchanges, many contexts",
		ops: am.Ops(), sizes: []int{8, 512, 4096, 65536, 1 << 20}, quick: []int{8, 65536}, multiple: 1,
		np: func(cpus int) []int { return []int{max(2, 4*cpus)} }, bounds: amBounds,
		ranks: "default 2,16,64 for poll and startup, 4 for each CPU for exchange; the others have 2",
		parts: amParts, method: between,
		peers: tools,
	},
	{
		name: "rma", about: "one-sided: puts, gets, values, fetch-and-add, barrier of two ranks",
		ops: rma.Ops(), sizes: []int{8, 64, 512, 4096, 65536, 1 << 20, 4 << 20}, quick: []int{8, 65536}, multiple: 1,
		bounds: func(string) (int, int) { return 2, 2 },
		ranks:  "always 2",
		parts: func(_ *options, p runner.Plan) []part {
			return []part{{[]int{2}, p.Spread(2), func(ctx context.Context, report func(*bench.Series) error) error {
				return rma.Run(ctx, p, report)
			}}}
		},
		method: between,
		peers:  tools,
	},
	{
		name: "coll", about: "collectives: barrier, broadcast, all-reduce, all-to-all",
		ops: coll.Ops(), sizes: []int{8, 65536, 1 << 20}, quick: []int{8, 65536}, multiple: coll.Element,
		np: collRanks, bounds: collBounds, ranks: collDefault,
		parts: byRanks(coll.Run), method: between,
		peers: coll.Describe,
	},
	{
		name: "kernel", about: "small programs: random updates (GUPS), steps of a stencil",
		ops: kernel.Ops(), multiple: 1,
		np: collRanks, bounds: func(string) (int, int) { return 1, mostNP }, ranks: collDefault,
		parts: byRanks(kernel.Run), method: between,
		peers: coll.Describe,
	},
	{
		name: "tune", about: "every algorithm of every collective, and the table of choices that this makes",
		ops: tune.Ops(), sizes: powers, quick: []int{8, 8 << 10, 128 << 10}, multiple: tune.Element,
		np: collRanks, bounds: collBounds, ranks: collDefault,
		parts: func(o *options, p runner.Plan) []part { return byRanks(o.tuner.Run)(o, p) }, method: "in turn with those of the other algorithms",
		result: writeTable,
	},
	{name: "capi", about: "the C library: latency, flood rate, empty polls, puts, gets, barrier, beside the API in Go", own: capiCommand},
	{name: "sim", about: "the speed of simulation: kernel, bare network beside SimGrid, the whole library", own: simCommand},
	{name: "schedule", about: "a collective of up to millions of ranks by its schedule, on a cost model", own: scheduleCommand},
	{name: "topology", about: "a picture of a Myrinet: tree, a route with its in-transit hosts, load of the channels", own: topologyCommand},
	{name: "paper", about: "published experiments, repeated on models of their machines", own: paperCommand},
	{name: "compare", about: "every conduit that can be used here, live and on models, beside floors and peers", own: compareCommand},
	{name: "diff", about: "what has changed beyond noise between two files of results", own: diffCommand},
	{name: "check", about: "regressions of the ratios of a baseline", own: checkCommand},
	{name: "report", about: "one HTML file of what other verbs have written with --format json", own: reportCommand},
}

// tools describes the tools that measure the network of a plan's conduit, which they do on this host alone.
func tools(p *runner.Plan) string {
	if len(p.Hosts) > 0 {
		return ""
	}
	return runner.Describe(against.Tools(against.NetworkOf(p.Conduit)))
}

// collRanks are two and four ranks, and four for each CPU.
func collRanks(cpus int) []int { return slices.Compact([]int{2, 4, max(4, 4*cpus)}) }

const collDefault = "default 2,4 and 4 for each CPU"

func collBounds(string) (least, most int) { return 2, mostNP }

// amBounds: what is measured on one rank needs no other.
func amBounds(op string) (least, most int) {
	switch {
	case am.OfPair(op):
		return 2, 2
	case op == am.Exchange:
		return 2, mostNP
	}
	return 1, mostRanks
}

// amParts puts what two ranks do first, then what ranks do that are not pinned, and then the
// exchanges.
func amParts(o *options, p runner.Plan) []part {
	measure := func(ops []string, n int) func(context.Context, func(*bench.Series) error) error {
		q := am.Plan{Plan: p, Ranks: o.loose, N: n, Width: o.contexts, Peers: len(p.Ops) == 1, Beside: o.beside}
		q.Ops = ops
		return func(ctx context.Context, report func(*bench.Series) error) error { return am.Run(ctx, q, report) }
	}
	var pairs, loose, exchange []string
	for _, op := range p.Ops {
		switch {
		case am.OfPair(op):
			pairs = append(pairs, op)
		case op == am.Exchange:
			exchange = append(exchange, op)
		default:
			loose = append(loose, op)
		}
	}
	var parts []part
	if len(pairs) > 0 {
		parts = append(parts, part{[]int{2}, p.Spread(2), measure(pairs, 0)})
	}
	if len(loose) > 0 {
		parts = append(parts, part{o.loose, nil, measure(loose, 0)})
	}
	if len(exchange) > 0 {
		for _, n := range o.np {
			parts = append(parts, part{[]int{n}, p.Spread(n), measure(exchange, n)})
		}
	}
	return parts
}

// byRanks returns the parts of a verb that has a job for each number of ranks.
func byRanks(run func(context.Context, runner.Plan, int, func(*bench.Series) error) error) func(*options, runner.Plan) []part {
	return func(o *options, p runner.Plan) []part {
		var parts []part
		for _, n := range o.np {
			parts = append(parts, part{[]int{n}, p.Spread(n), func(ctx context.Context, report func(*bench.Series) error) error {
				return run(ctx, p, n, report)
			}})
		}
		return parts
	}
}

// writeTable writes the table of choices to the file that is asked for, or prints it.
func writeTable(o *options, stdout io.Writer) error {
	text := o.tuner.Table(o.table).File()
	if o.write != "" {
		return os.WriteFile(o.write, []byte(text), 0o666)
	}
	_, err := io.WriteString(stdout, "\n"+text)
	return err
}
