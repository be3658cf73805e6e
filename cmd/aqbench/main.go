// Aqbench measures Aqueduct and compares it with floors and peers.
//
//	aqbench am [--conduit sci] [--profile live|paper|all] [--threads single|many|all]
//	           [--op pingpong,flood,...] [--sizes 8,4096,...] [--samples n] [--quick]
//	           [--format osu|gobench|json|csv]
//
// Exit status: 0 when everything was measured, 1 when something failed, 2 for misuse.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/core"
)

const usage = `usage: aqbench VERB [options]

verbs:
  am    active messages: latency, flood rate, bandwidth, empty polls, start-up

aqbench VERB --help lists the options of a verb.
`

func main() {
	am.RankMain() // does not return in a rank of a job
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "-h", "--help", "help":
		fmt.Fprint(stdout, usage)
		return 0
	case "am":
		return runAM(ctx, args[1:], stdout, stderr)
	}
	fmt.Fprintf(stderr, "aqbench: unknown verb %q\n\n%s", args[0], usage)
	return 2
}

// amOptions are the options of the verb am.
type amOptions struct {
	conduit, profile, threads, format string
	ops                               []string
	sizes, ranks                      []int
	samples                           int
	quick                             bool
}

func runAM(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o amOptions
	f := pflag.NewFlagSet("aqbench am", pflag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.conduit, "conduit", "sci", "conduit to measure")
	f.StringVar(&o.profile, "profile", "all", "profile of the conduit, or all")
	f.StringVar(&o.threads, "threads", "all", "single, many, or all")
	f.StringVar(&o.format, "format", "osu", "format of the report: "+strings.Join(bench.Formats(), ", "))
	f.StringSliceVar(&o.ops, "op", nil, fmt.Sprintf("operations to measure, of %v (default all)", am.Ops()))
	f.IntSliceVar(&o.sizes, "sizes", []int{8, 512, 4096, 65536, 1 << 20}, "payload sizes in bytes")
	f.IntSliceVar(&o.ranks, "ranks", []int{2, 16, 64}, "numbers of ranks for empty polls and start-up")
	f.IntVar(&o.samples, "samples", 10, "samples of each point")
	f.BoolVar(&o.quick, "quick", false, "a few samples of a few points")
	err := f.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var plans []am.Plan
	if err == nil {
		plans, err = o.plans()
	}
	var enc bench.Encoder
	if err == nil {
		enc, err = bench.NewEncoder(o.format, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "aqbench am:", err)
		return 2
	}
	if err := measure(ctx, plans, enc); err != nil {
		fmt.Fprintln(stderr, "aqbench am:", err)
		return 1
	}
	return 0
}

// plans turns the options into one plan for each profile and thread mode.
func (o *amOptions) plans() ([]am.Plan, error) {
	d, err := core.DriverByName(o.conduit)
	if err != nil {
		return nil, err
	}
	profiles := d.Profiles
	if o.profile != "all" {
		if profiles = []string{o.profile}; !slices.Contains(d.Profiles, o.profile) {
			return nil, fmt.Errorf("conduit %s has no profile %q; it has %v", d.Name, o.profile, d.Profiles)
		}
	}
	threads, ok := map[string][]core.Threads{
		"all": {core.Single, core.Many}, "single": {core.Single}, "many": {core.Many},
	}[o.threads]
	p := am.Plan{Conduit: o.conduit, Ops: am.Ops(), Sizes: o.sizes, Ranks: o.ranks, Samples: o.samples, Weight: 1}
	if o.quick {
		p.Sizes, p.Ranks, p.Samples, p.Weight = []int{8, 65536}, []int{2, 16}, 3, 0.3
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("--threads %q; want single, many or all", o.threads)
	case o.samples < 1:
		return nil, fmt.Errorf("--samples %d; want at least 1", o.samples)
	case slices.ContainsFunc(o.sizes, func(n int) bool { return n < 1 || n > 4<<20 }):
		return nil, fmt.Errorf("--sizes %v; want 1 to %d bytes", o.sizes, 4<<20)
	case slices.ContainsFunc(o.ranks, func(n int) bool { return n < 1 || n > 1024 }):
		return nil, fmt.Errorf("--ranks %v; want 1 to 1024", o.ranks)
	}
	if len(o.ops) > 0 {
		p.Ops = nil
		for _, op := range o.ops {
			if !slices.Contains(am.Ops(), am.Op(op)) {
				return nil, fmt.Errorf("unknown operation %q; known: %v", op, am.Ops())
			}
			p.Ops = append(p.Ops, am.Op(op))
		}
	}
	if cpus, err := bench.CPUs(); err == nil && len(cpus) >= 2 {
		pair := bench.Pairs(cpus)[0]
		p.CPUs = pair[:]
	}
	var plans []am.Plan
	for _, profile := range profiles {
		for _, t := range threads {
			q := p
			q.Profile, q.Threads = profile, t
			plans = append(plans, q)
		}
	}
	return plans, nil
}

// measure carries the plans out.
func measure(ctx context.Context, plans []am.Plan, enc bench.Encoder) error {
	h := bench.Conditions()
	h.Mode = "live"
	for _, p := range plans {
		h.Conduit, h.Profile, h.Threads = p.Conduit, p.Profile, p.Threads.String()
		h.Ranks, h.Pinning = 2, "none"
		if p.CPUs != nil {
			h.Pinning = strings.Trim(strings.ReplaceAll(fmt.Sprint(p.CPUs), " ", ","), "[]")
		}
		h.Method = fmt.Sprintf("%d samples, each between two of its floor", p.Samples)
		if err := enc.Header(&h); err != nil {
			return err
		}
		if err := am.Run(ctx, p, enc.Series); err != nil {
			return err
		}
	}
	return nil
}
