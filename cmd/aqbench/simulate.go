package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/sim"
	choices "github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
)

// misuse is an error of the command line.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// flags returns a verb's empty set of options, with --format.
func flags(name string, stdout io.Writer, format *string) *pflag.FlagSet {
	f := pflag.NewFlagSet("aqbench "+name, pflag.ContinueOnError)
	f.SetOutput(stdout)
	f.Usage = func() { fmt.Fprintf(stdout, "usage: aqbench %s [options]\n\n%s", name, f.FlagUsages()) }
	f.StringVar(format, "format", "osu", "format of the report: "+strings.Join(bench.Formats(), ", "))
	return f
}

// parse reads the command line and returns the encoder of a report on stdout.
func parse(f *pflag.FlagSet, args []string, format *string, stdout io.Writer) (bench.Encoder, error) {
	if err := f.Parse(args); err != nil {
		return nil, misuse{err}
	}
	if f.NArg() > 0 {
		return nil, misuse{fmt.Errorf("unexpected argument %q", f.Arg(0))}
	}
	enc, err := bench.NewEncoder(*format, stdout)
	if err != nil {
		return nil, misuse{err}
	}
	return enc, nil
}

// runSim is the verb sim.
func runSim(ctx context.Context, args []string, stdout io.Writer) error {
	var p sim.Plan
	var format string
	var quick bool
	f := flags("sim", stdout, &format)
	f.StringSliceVar(&p.Ops, "op", sim.Ops(), "operations to measure")
	f.IntSliceVar(&p.Ranks, "ranks", []int{1 << 10, 1 << 14}, "numbers of ranks of the kernel and the bare network")
	f.IntSliceVar(&p.Stack, "stack-ranks", []int{64, 1 << 10}, "numbers of ranks of the whole library")
	f.IntVar(&p.Samples, "samples", 5, "samples of each point")
	f.IntVar(&p.Messages, "messages", 1<<18, "messages, events or turns of a sample, about")
	f.BoolVar(&quick, "quick", false, "few samples of few messages")
	enc, err := parse(f, args, &format, stdout)
	if err != nil {
		return err
	}
	if quick {
		p.Samples, p.Messages = min(p.Samples, 2), min(p.Messages, 1<<14)
	}
	few := func(n int) bool { return n < 2 || n > 1<<20 }
	switch i := slices.IndexFunc(p.Ops, func(op string) bool { return !sim.Known(op) }); {
	case i >= 0:
		return misuse{fmt.Errorf("unknown operation %q; known: %v", p.Ops[i], sim.Ops())}
	case p.Samples < 1 || p.Messages < 1:
		return misuse{fmt.Errorf("--samples %d and --messages %d; want at least 1", p.Samples, p.Messages)}
	case slices.ContainsFunc(p.Ranks, few) || slices.ContainsFunc(p.Stack, few):
		return misuse{fmt.Errorf("--ranks %v, --stack-ranks %v; want 2 to %d", p.Ranks, p.Stack, 1<<20)}
	}
	h := bench.Conditions()
	h.Mode, h.Pinning = "modelled", "none"
	h.Method = fmt.Sprintf("%d samples of about %d messages; the times are the host's", p.Samples, p.Messages)
	if h.Peers = sim.Missing(ctx); h.Peers == "" {
		h.Peers = "x-simgrid SimGrid"
	}
	if err := enc.Header(&h); err != nil {
		return err
	}
	return sim.Run(ctx, p, enc.Series)
}

// logarithmic are the algorithms that a schedule is made by unless one is asked for: the table
// of choices is measured with few ranks, and says little of millions.
const logarithmic = "barrier=dissemination:2,broadcast=knomial:2,reduce=knomial:2,allreduce=doubling," +
	"scatter=knomial:2,gather=knomial:2,allgather=bruck,alltoall=bruck,scan=doubling,exscan=doubling"

// runSchedule is the verb schedule.
func runSchedule(_ context.Context, args []string, stdout io.Writer) error {
	s := sim.Schedule{Call: choices.Call{Elem: 8, Commutes: true}}
	var format, collective, algorithm, model string
	f := flags("schedule", stdout, &format)
	f.StringVar(&collective, "collective", "barrier", "operation")
	f.StringVar(&algorithm, "algorithm", "", "algorithm, with :parameter if it has one (default a logarithmic one)")
	f.IntVar(&s.Call.Bytes, "bytes", 8, "bytes of the vector, or of a block")
	f.IntSliceVar(&s.Ranks, "ranks", []int{1 << 10, 1 << 14, 1 << 18}, "numbers of ranks")
	f.StringVar(&model, "model", "loggp:L=1us,o=300ns,g=100ns,G=0.8ns", "cost model; see go doc ./extended/coll/cost ParseProfile")
	f.BoolVar(&s.InOrder, "in-order", false, "keep the order of time even if the model does not need it")
	enc, err := parse(f, args, &format, stdout)
	if err != nil {
		return err
	}
	if s.Call.Op, err = choices.ParseOp(collective); err != nil {
		return misuse{err}
	}
	text := logarithmic
	if algorithm != "" {
		text = collective + "=" + algorithm
	}
	forced, err := choices.ParseForced(text)
	if err != nil {
		return misuse{err}
	}
	s.Choice = forced[s.Call.Op]
	if s.Profile, err = cost.ParseProfile(model); err != nil {
		return misuse{err}
	}
	if slices.ContainsFunc(s.Ranks, func(n int) bool { return n < 1 || n > cost.MaxRanks }) {
		return misuse{fmt.Errorf("--ranks %v; want 1 to %d", s.Ranks, cost.MaxRanks)}
	}
	h := bench.Conditions()
	h.Mode, h.Method = "modelled", "one run on "+s.Profile.String()+"; messages/s, host-s and B/rank are the host's"
	series, err := s.Run()
	if err != nil {
		return err
	}
	if err := enc.Header(&h); err != nil {
		return err
	}
	return enc.Series(series)
}
