package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/sim"
	"github.com/aqueduct-go/aqueduct/bench/tune"
	choices "github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// simCommand makes the command of the verb sim.
func simCommand(cmd *cobra.Command) {
	p := sim.Plan{Ranks: []int{1 << 10, 1 << 14}, Stack: []int{64, 1 << 10}}
	var quick bool
	f := newCommon(cmd, sim.Ops(), "default 1024,16384; of stack, sci and barrier 64,1024")
	f.IntVar(&p.Samples, "samples", 5, about["samples"])
	f.IntVar(&p.Messages, "messages", 1<<18, about["messages"])
	f.BoolVar(&quick, "quick", false, about["quick"])
	cli.Unknown(cmd, "samples", "messages")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runSim(cmd.Context(), &p, f, quick, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runSim is the verb sim.
func runSim(ctx context.Context, p *sim.Plan, f *common, quick bool, args []string, stdout, stderr io.Writer) error {
	enc, err := f.encoder(args, stdout)
	if err != nil {
		return cli.Misused(err)
	}
	if quick && !f.Changed("samples") {
		p.Samples = 2
	}
	if quick && !f.Changed("messages") {
		p.Messages = 1 << 14
	}
	if p.Ops = f.ops; len(p.Ops) == 0 {
		p.Ops = sim.Ops()
	}
	if f.Changed("np") {
		p.Ranks, p.Stack = f.np, f.np
	}
	switch {
	case p.Samples < 1 || p.Messages < 1:
		return cli.Misused(fmt.Errorf("--samples %d and --messages %d; want at least 1", p.Samples, p.Messages))
	case slices.ContainsFunc(f.np, func(n int) bool { return n < 2 || n > 1<<20 }):
		return cli.Misused(fmt.Errorf("-n %v; want 2 to %d ranks", f.np, 1<<20))
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	h := bench.Conditions()
	h.Mode, h.Pinning = "modelled", "none"
	h.Method = fmt.Sprintf("%d samples of about %d messages; times are CPU time of the host, user and system", p.Samples, p.Messages)
	if h.Peers = sim.Missing(ctx); h.Peers == "" {
		h.Peers = "x-simgrid SimGrid"
	}
	if err := enc.Header(&h); err != nil {
		return err
	}
	return causeOf(ctx, sim.Run(ctx, *p, newProgress(enc, "sim", stderr).Series))
}

// logarithmic are the algorithms that a schedule is made by unless one is asked for: the table
// of choices is measured with few ranks, and says little of millions.
const logarithmic = "barrier=dissemination:2,broadcast=knomial:2,reduce=knomial:2,allreduce=doubling," +
	"scatter=knomial:2,gather=knomial:2,allgather=bruck,alltoall=bruck,scan=doubling,exscan=doubling"

// schedule are the options of the verb schedule.
type schedule struct {
	*common
	algorithm, model string
	inOrder          bool
	bytes            sizes
}

// scheduleCommand makes the command of the verb schedule.
func scheduleCommand(cmd *cobra.Command) {
	f := &schedule{common: newCommon(cmd, tune.Ops(), "default 1024,16384,262144"), bytes: sizes{8}}
	cmd.Long += " Sizes are those of the vector, or of a block."
	f.StringVar(&f.algorithm, "algorithm", "", about["algorithm"])
	f.Var(&f.bytes, "sizes", about["sizes"])
	f.StringVar(&f.model, "cost", "loggp:L=1us,o=300ns,g=100ns,G=0.8ns", about["cost"])
	f.BoolVar(&f.inOrder, "in-order", false, about["in-order"])
	cli.Unknown(cmd, "algorithm", "sizes", "cost")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// run is the verb schedule.
func (f *schedule) run(args []string, stdout, stderr io.Writer) error {
	bytes := f.bytes
	enc, err := f.encoder(args, stdout)
	if err != nil {
		return cli.Misused(err)
	}
	if len(f.ops) == 0 {
		f.ops = tune.Ops()
	}
	if !f.Changed("np") {
		f.np = []int{1 << 10, 1 << 14, 1 << 18}
	}
	profile, err := cost.ParseProfile(f.model)
	switch {
	case err != nil:
		return cli.Misused(err)
	case slices.ContainsFunc(f.np, func(n int) bool { return n < 1 || n > cost.MaxRanks }):
		return cli.Misused(fmt.Errorf("-n %v; want 1 to %d ranks", f.np, cost.MaxRanks))
	case slices.ContainsFunc(bytes, func(n int) bool { return n%tune.Element != 0 }):
		return cli.Misused(fmt.Errorf("--sizes %s; want multiples of %d", &bytes, tune.Element))
	}
	calls, err := scheduled(f.ops, bytes, f.algorithm)
	if err != nil {
		return cli.Misused(err)
	}
	h := bench.Conditions()
	h.Mode, h.Method = "modelled", "one run on "+profile.String()+"; messages/s, host-s and B/rank are the host's"
	if err := enc.Header(&h); err != nil {
		return err
	}
	report := newProgress(enc, "schedule", stderr)
	for i := range calls {
		s := &calls[i]
		s.Profile, s.Ranks, s.InOrder = profile, f.np, f.inOrder
		series, err := s.Run()
		if err != nil {
			return err
		}
		if err := report.Series(series); err != nil {
			return err
		}
	}
	return nil
}

// scheduled returns the calls of operations at every size, by one algorithm or by logarithmic
// ones. A barrier has no size.
func scheduled(ops []string, bytes []int, algorithm string) ([]sim.Schedule, error) {
	var calls []sim.Schedule
	for _, name := range ops {
		text := logarithmic
		if algorithm != "" {
			text = name + "=" + algorithm
		}
		forced, err := choices.ParseForced(text)
		if err != nil {
			return nil, err
		}
		op, err := choices.ParseOp(name)
		if err != nil {
			return nil, err
		}
		of := bytes
		if op == choices.Barrier {
			of = []int{0}
		}
		for _, n := range of {
			call := choices.Call{Op: op, Bytes: n, Elem: tune.Element, Commutes: true}
			calls = append(calls, sim.Schedule{Call: call, Choice: forced[op]})
		}
	}
	return calls, nil
}
