// Aqbench measures Aqueduct and compares it with floors and peers.
//
//	aqbench am [options]      active messages
//	aqbench rma [options]     one-sided communication
//	aqbench coll [options]    collectives, beside those of MPI libraries
//	aqbench tune [options]    algorithms of collectives, and the table that chooses among them
//	aqbench sim [options]     the speed of simulation, beside SimGrid
//	aqbench schedule [options]  a collective of many ranks by its schedule, on a cost model
//	aqbench topology SHAPE    a picture of a Myrinet
//	aqbench paper EXPERIMENT  published experiments, repeated on models of their machines
//
// aqbench VERB --help lists the options of a verb; docs/benchmarks.md says how to read the
// figures. The report goes to standard output, what is being measured to standard error. Exit
// status: 0 when everything was measured, 1 when something failed, 2 for misuse, which is found
// before anything is measured, 3 when a model is not within the tolerance of what was published.
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
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// interruptible returns a context that an interrupt ends, for verbs that start processes. The
// others die of an interrupt, as programs do.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt)
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

// runVerb runs a verb and returns the exit status.
func runVerb(ctx context.Context, v *verb, args []string, stdout, stderr io.Writer) int {
	var err error
	if v.own != nil {
		err = v.own(ctx, args, stdout, stderr)
	} else {
		err = runJobs(ctx, v, args, stdout, stderr)
	}
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "aqbench %s: %v\n", v.name, err)
	if errors.As(err, new(misuse)) {
		return 2
	}
	return 1
}

// runJobs runs a verb that measures jobs.
func runJobs(ctx context.Context, v *verb, args []string, stdout, stderr io.Writer) error {
	o := options{verb: v}
	enc, err := o.parse(args, stdout)
	if err != nil {
		return misuse{err}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := measure(ctx, &o, newProgress(enc, v.name, stderr)); err != nil || v.result == nil {
		return err
	}
	return v.result(&o, stdout)
}

// measure runs every part of the verb for every profile and thread mode, each under a
// header of its own.
func measure(ctx context.Context, o *options, report *progress) error {
	h := bench.Conditions()
	h.Mode = "live"
	if o.mode == spawner.Modelled {
		h.Mode = "modelled"
	}
	if o.verb.peers != nil && o.mode == spawner.Processes {
		h.Peers = o.verb.peers(o.conduit)
	}
	plans := o.plans()
	for i, p := range plans {
		h.Conduit, h.Profile, h.Threads = p.Conduit, p.Profile, p.Threads.String()
		h.Settings = settings(p.Settings)
		h.Method = fmt.Sprintf("%d samples, %s", p.Samples, o.verb.method)
		if p.Modelled() {
			h.Method = fmt.Sprintf("in virtual time, samples: %d", p.Samples)
		}
		parts := o.verb.parts(o, p)
		for j, part := range parts {
			if h.Ranks = 0; len(part.ranks) == 1 {
				h.Ranks = part.ranks[0]
			}
			h.Pinning = pinning(part.cpus)
			report.say("part %d of %d: conduit %s, profile %s, threads %s, ranks %s",
				i*len(parts)+j+1, len(plans)*len(parts), h.Conduit, h.Profile, h.Threads, commas(part.ranks))
			if err := report.Header(&h); err != nil {
				return err
			}
			if err := part.run(ctx, report.Series); err != nil {
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
	return commas(cpus)
}

// commas writes a list as options have it.
func commas(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}
