// Aqbench measures Aqueduct and compares it with floors and peers.
//
//	aqbench am [options]      active messages
//	aqbench rma [options]     one-sided communication
//	aqbench coll [options]    collectives, beside those of MPI libraries
//	aqbench tune [options]    algorithms of collectives, and the table that chooses among them
//	aqbench sim [options]     the speed of simulation, beside SimGrid
//	aqbench schedule [options]  a collective of many ranks by its schedule, on a cost model
//	aqbench paper EXPERIMENT  published experiments, repeated on models of their machines
//
// aqbench VERB --help lists the options of a verb; docs/benchmarks.md says how to read the
// figures. Exit status: 0 when everything was measured, 1 when something failed, 2 for
// misuse, 3 when a model is not within the tolerance of what was published.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/tune"
	_ "github.com/aqueduct-go/aqueduct/internal/stdfd"
	"github.com/aqueduct-go/aqueduct/spawner"
)

func main() {
	rankMain()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// rankMain does not return in a rank of a benchmark's job.
func rankMain() {
	am.RankMain()
	rma.RankMain()
	coll.RankMain()
	tune.RankMain()
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: aqbench VERB [options]\n\nverbs:\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-8s %s\n", v.name, v.about)
	}
	b.WriteString("  paper    published experiments, repeated on models of their machines\n")
	b.WriteString("\naqbench VERB --help lists the options of a verb.\n")
	return b.String()
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage())
		return 2
	}
	switch args[0] {
	case "-h", "--help", "help":
		fmt.Fprint(stdout, usage())
		return 0
	case "paper":
		return runPaper(args[1:], stdout, stderr)
	}
	for i := range verbs {
		if verbs[i].name == args[0] {
			return runVerb(ctx, &verbs[i], args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "aqbench: unknown verb %q\n\n%s", args[0], usage())
	return 2
}

func runVerb(ctx context.Context, v *verb, args []string, stdout, stderr io.Writer) int {
	if v.own != nil {
		return runOwn(ctx, v, args, stdout, stderr)
	}
	o := options{verb: v}
	err := o.parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	measured := stdout
	if v.result != nil {
		measured = stderr
	}
	var enc bench.Encoder
	if err == nil {
		enc, err = bench.NewEncoder(o.format, measured)
	}
	if err != nil {
		fmt.Fprintf(stderr, "aqbench %s: %v\n", v.name, err)
		return 2
	}
	err = measure(ctx, &o, enc)
	if err == nil && v.result != nil {
		err = v.result(&o, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "aqbench %s: %v\n", v.name, err)
		return 1
	}
	return 0
}

// runOwn runs a verb that has its own options and report.
func runOwn(ctx context.Context, v *verb, args []string, stdout, stderr io.Writer) int {
	err := v.own(ctx, args, stdout)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "aqbench %s: %v\n", v.name, err)
	if errors.As(err, new(misuse)) {
		return 2
	}
	return 1
}

// measure runs every part of the verb for every profile and thread mode, each under a
// header of its own.
func measure(ctx context.Context, o *options, enc bench.Encoder) error {
	h := bench.Conditions()
	h.Mode = "live"
	if o.mode == spawner.Modelled {
		h.Mode = "modelled"
	}
	if o.verb.peers != nil {
		h.Peers = o.verb.peers(o.conduit)
	}
	for _, p := range o.plans() {
		h.Conduit, h.Profile, h.Threads = p.Conduit, p.Profile, p.Threads.String()
		h.Settings = settings(p.Settings)
		h.Method = fmt.Sprintf("%d samples, %s", p.Samples, o.verb.method)
		if p.Modelled() {
			h.Method = fmt.Sprintf("in virtual time, samples: %d", p.Samples)
		}
		for _, part := range o.verb.parts(o, p) {
			h.Ranks = part.ranks
			h.Pinning = pinning(part.cpus)
			if err := enc.Header(&h); err != nil {
				return err
			}
			if err := part.run(ctx, enc.Series); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings writes settings as the user may, by key.
func settings(set map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		pairs = append(pairs, key+"="+set[key])
	}
	return strings.Join(pairs, ",")
}

// pinning describes on which CPUs the ranks are.
func pinning(cpus []int) string {
	if len(cpus) == 0 {
		return "none"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
}
