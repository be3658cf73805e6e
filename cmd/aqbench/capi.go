package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/capi"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
)

// gasnetVariable is the environment variable that says where an installation of GASNet is.
const gasnetVariable = "GASNET_PREFIX"

// capiCommand makes the command of the verb capi.
func capiCommand(cmd *cobra.Command) {
	p := capi.Plan{GASNet: os.Getenv(gasnetVariable)}
	var quick bool
	f := newCommon(cmd, capi.Ops(), "always 2")
	f.IntVar(&p.Samples, "samples", 10, about["samples"])
	f.BoolVar(&quick, "quick", false, about["quick"])
	f.StringVar(&p.Conduit, "conduit", "", about["conduit"])
	cli.Unknown(cmd, "samples")
	cli.Values(cmd, "conduit", known.Conduits)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if quick && !f.Changed("samples") {
			p.Samples = 3
		}
		return runCapi(cmd.Context(), &p, f, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runCapi is the verb capi.
func runCapi(ctx context.Context, p *capi.Plan, f *common, args []string, stdout, stderr io.Writer) error {
	enc, err := f.encoder(args, stdout)
	switch {
	case err != nil:
		return cli.Misused(err)
	case p.Samples < 1:
		return cli.Misused(fmt.Errorf("--samples %d; want at least 1", p.Samples))
	case f.Changed("np") && (len(f.np) != 1 || f.np[0] != 2):
		return cli.Misused(fmt.Errorf("-n %v; the verb measures 2 ranks", f.np))
	}
	if p.Prefix, p.Aqrun, err = capi.Locate(); err != nil {
		return err
	}
	cpus, err := bench.CPUs()
	if err != nil {
		return err
	}
	if len(cpus) < 2 {
		return fmt.Errorf("the verb measures 2 ranks on a CPU each, and this process may use %d of %d", len(cpus), runtime.NumCPU())
	}
	p.CPUs = cpus[:2]
	ctx, stop := interruptible(ctx)
	defer stop()
	h := bench.Conditions()
	plans := plansOf(p, f.ops)
	var conduits []string
	for i := range plans {
		conduits = append(conduits, plans[i].Conduit)
	}
	h.Conduit, h.Threads, h.Mode, h.Ranks = strings.Join(conduits, ","), "single", "live", 2
	h.Pinning = fmt.Sprintf("%d,%d", p.CPUs[0], p.CPUs[1])
	h.Method = fmt.Sprintf("%d samples, %s", p.Samples, between)
	h.Peers = "x-gasnet is not measured: set " + gasnetVariable + " to an installation of GASNet with conduit smp"
	if p.GASNet != "" {
		h.Peers = "x-gasnet GASNet in " + p.GASNet
	}
	if err := enc.Header(&h); err != nil {
		return err
	}
	progress := newProgress(enc, "capi", stderr)
	for i := range plans {
		if err := capi.Run(ctx, plans[i], progress.Series); err != nil {
			return causeOf(ctx, err)
		}
	}
	return nil
}

// plansOf returns a plan for each conduit that is measured, with the operations that were asked for. If none were, a network has those
// that tell something of it.
func plansOf(p *capi.Plan, ops []string) []capi.Plan {
	plan := func(conduit string, all []string) capi.Plan {
		q := *p
		if q.Conduit, q.Ops = conduit, ops; len(ops) == 0 {
			q.Ops = all
		}
		return q
	}
	if p.Conduit != "" {
		return []capi.Plan{plan(p.Conduit, capi.Ops())}
	}
	plans := []capi.Plan{plan("sci", capi.Ops())}
	if len(ops) == 0 {
		plans = append(plans, plan("udp", capi.NetworkOps()))
	}
	return plans
}
