// Aqbench measures Aqueduct and compares it with floors and peers.
//
//	aqbench VERB [options]
//
// aqbench --help lists the verbs, aqbench VERB --help the options of one; docs/benchmarks.md says how to read the
// figures. The report goes to standard output, what is being measured to standard error. Exit
// status: 0 when everything was measured, 1 when something failed, 2 for misuse, which is found
// before anything is measured, 3 when a model is not within the tolerance of what was published, or ratios are
// worse than those of a baseline, 128 + n when signal n
// (SIGINT, SIGTERM or SIGHUP) has ended it, with all processes that it has started.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/capi"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/tune"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
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
	kernel.RankMain()
	tune.RankMain()
	capi.RankMain()
}

// texts are the topics of the help.
//
//go:embed help/*.txt
var texts embed.FS

// root returns the command line: help, man pages and completion are made from it.
func root() *cobra.Command {
	cmd := &cobra.Command{
		Use: "aqbench VERB [option...]", Short: "measure Aqueduct, and compare it with floors and peers",
		Long: `Measures Aqueduct and compares it with floors and peers. The report goes to standard output, what
is being measured to standard error. aqbench VERB --help lists the options of a verb; an option
means the same in each.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Misused(fmt.Errorf("which verb?\n\n%s", cli.Usage(cmd)))
			}
			return cli.Misused(fmt.Errorf("unknown verb %q\n\n%s", args[0], cli.Usage(cmd)))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	for i := range verbs {
		cmd.AddCommand(verbs[i].command())
	}
	cli.Program(cmd, &texts, version)
	return cmd
}

// version says what this program was built from and with.
func version() string {
	return cli.Version("aqbench", "conduits: "+strings.Join(known.Conduits(), ", "), "C library: "+cli.CLibrary())
}

// command returns the command of a verb.
func (v *verb) command() *cobra.Command {
	cmd := &cobra.Command{Use: v.name + " [option...]", Short: v.about, ValidArgsFunction: cobra.NoFileCompletions}
	if v.own != nil {
		v.own(cmd)
		return cmd
	}
	o := &options{verb: v}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return o.runJobs(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// run executes the command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd, err := cli.Execute(ctx, root(), args, stdout, stderr)
	if err == nil {
		return 0
	}
	var d deviations
	if errors.As(err, &d) {
		for _, line := range d {
			fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), line)
		}
		return deviates
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	var i interrupted
	switch {
	case errors.As(err, new(cli.Misuse)):
		return 2
	case errors.Is(err, errRegressed):
		return deviates
	case errors.As(err, &i):
		return 128 + int(i.Signal)
	}
	return 1
}

// runJobs runs a verb that measures jobs.
func (o *options) runJobs(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	enc, err := o.encoder(args, stdout)
	if err == nil && o.model == "list" {
		_, err := io.WriteString(stdout, aqueduct.Models())
		return err
	}
	if err == nil {
		err = o.resolve()
	}
	if err != nil {
		return cli.Misused(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := measure(ctx, o, newProgress(enc, o.verb.name, stderr)); err != nil || o.verb.result == nil {
		return causeOf(ctx, err)
	}
	return o.verb.result(o, stdout)
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
