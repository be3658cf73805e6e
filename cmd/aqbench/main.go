// Aqbench measures Aqueduct and compares it with floors and peers.
//
//	aqbench am [options]      active messages
//	aqbench rma [options]     one-sided communication
//	aqbench coll [options]    collectives, beside those of MPI libraries
//	aqbench tune [options]    algorithms of collectives, and the table that chooses among them
//	aqbench capi [options]    the C library, beside the API in Go
//	aqbench sim [options]     the speed of simulation, beside SimGrid
//	aqbench schedule [options]  a collective of many ranks by its schedule, on a cost model
//	aqbench topology SHAPE    a picture of a Myrinet
//	aqbench paper EXPERIMENT  published experiments, repeated on models of their machines
//
// aqbench VERB --help lists the options of a verb; docs/benchmarks.md says how to read the
// figures. The report goes to standard output, what is being measured to standard error. Exit
// status: 0 when everything was measured, 1 when something failed, 2 for misuse, which is found
// before anything is measured, 3 when a model is not within the tolerance of what was published, 128 + n when signal n
// (SIGINT, SIGTERM or SIGHUP) has ended it, with all processes that it has started.
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
	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/capi"
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

// interrupted is a signal as the reason why a verb has ended.
type interrupted struct{ unix.Signal }

func (i interrupted) Error() string { return unix.SignalName(i.Signal) }

// interruptible returns a context that SIGINT, SIGTERM and SIGHUP end, for verbs that start processes or keep what is
// complete. The others die of them, as programs do.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			end(interrupted{s.(unix.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); end(nil) }
}

// causeOf returns the signal that has ended the context, or else the error.
func causeOf(ctx context.Context, err error) error {
	if i := (interrupted{}); errors.As(context.Cause(ctx), &i) {
		return i
	}
	return err
}

// rankMain does not return in a rank of a benchmark's job.
func rankMain() {
	am.RankMain()
	rma.RankMain()
	coll.RankMain()
	tune.RankMain()
	capi.RankMain()
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
		return runPaper(ctx, args[1:], stdout, stderr)
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
	var i interrupted
	switch {
	case errors.As(err, new(misuse)):
		return 2
	case errors.As(err, &i):
		return 128 + int(i.Signal)
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
		return causeOf(ctx, err)
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
	plans := o.plans()
	if o.verb.peers != nil && o.mode == spawner.Processes {
		h.Peers = o.verb.peers(&plans[0])
	}
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
