package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/compare"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// diffCommand makes the command of the verb diff.
func diffCommand(cmd *cobra.Command) {
	cmd.Use = "diff OLD NEW [option...]"
	cmd.Long = `Says which times have changed beyond noise between two files that compare --write, or any verb
with --format json, has written. The test of Mann and Whitney says how likely samples differ so much
by chance; of the changes that are named, 5 % are expected to be none (Benjamini and Hochberg).
Values of models have no noise: every difference counts. The exit status is 0 whatever has changed.
- is standard input.`
	cmd.ValidArgsFunction = nil // files
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return cli.Misused(fmt.Errorf("%d files; want two, the old one and the new one", len(args)))
		}
		return runDiff(args[0], args[1], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runDiff is the verb diff.
func runDiff(oldName, newName string, stdin io.Reader, stdout, stderr io.Writer) error {
	old, err := linesOf(oldName, stdin)
	if err != nil {
		return err
	}
	new, err := linesOf(newName, stdin)
	if err != nil {
		return err
	}
	changes, only, err := compare.Changes(old, new, compare.Times)
	if err != nil {
		return err
	}
	for _, d := range compare.Differ(old, new) {
		fmt.Fprintf(stderr, "aqbench diff: not the same conditions: %s\n", d)
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s and %s have no result in common", oldName, newName)
	}
	return compare.WriteDiff(stdout, changes, only)
}

// linesOf reads a file of results.
func linesOf(name string, stdin io.Reader) ([]*bench.Line, error) {
	in := stdin
	if name != standard {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	lines, err := bench.ReadLines(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}

// errRegressed is the error of a check that has found regressions.
var errRegressed = errors.New("there are regressions")

// checkCommand makes the command of the verb check.
func checkCommand(cmd *cobra.Command) {
	var tolerance float64
	cmd.Use = "check BASELINE [NEW] [option...]"
	cmd.Long = `Compares ratios to the floor, or to peers where there is no floor, with those of a baseline, a file that
compare --write has written, perhaps on another machine. NEW is another such file; without one,
those conduits and operations of the baseline that there are here are measured, as by compare
--quick. A ratio is a regression if it has grown by more than the tolerance, and
beyond noise as diff judges it; of a model any time that has grown. The exit status is 3 if there are
regressions, 0 if there are none. A tool for developers: a busy machine makes ratios worse, too.
- is standard input.`
	cmd.ValidArgsFunction = nil // files
	f := cmd.Flags()
	f.SortFlags = false
	f.Float64Var(&tolerance, "tolerance", 10, about["tolerance"])
	cli.Unknown(cmd, "tolerance")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != 1 && len(args) != 2:
			return cli.Misused(fmt.Errorf("%d files; want the baseline, and a new one or none", len(args)))
		case !(tolerance >= 0):
			return cli.Misused(fmt.Errorf("--tolerance %v; want 0 or more per cent", tolerance))
		}
		return runCheck(cmd.Context(), f, args, tolerance/100, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runCheck is the verb check.
func runCheck(ctx context.Context, flags *pflag.FlagSet, args []string, tolerance float64, stdin io.Reader, stdout, stderr io.Writer) error {
	old, err := linesOf(args[0], stdin)
	if err != nil {
		return err
	}
	var new []*bench.Line
	if len(args) == 2 {
		if new, err = linesOf(args[1], stdin); err != nil {
			return err
		}
	} else {
		if len(old) == 0 {
			return fmt.Errorf("%s has no result", args[0])
		}
		quick := &comparison{common: &common{FlagSet: flags}, quick: true, like: old}
		store, err := quick.measure(ctx, stderr)
		if err != nil {
			return err
		}
		new = store.Lines
	}
	changes, _, err := compare.Changes(old, new, compare.Ratios)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s has no ratio in common with what was measured now", args[0])
	}
	worse := compare.Regressions(changes, tolerance)
	for i := range worse {
		c := &worse[i]
		fmt.Fprintf(stdout, "%s: %s was %.4g and is %.4g, %+.1f %%, p = %.2g\n", c.Name, c.Unit, c.Old, c.New, 100*(c.Factor()-1), c.P)
	}
	few := 0
	for i := range changes {
		if changes[i].TooFew {
			few++
		}
	}
	fmt.Fprintf(stdout, "%d values checked, %d regressions, %d of too few samples to say\n", len(changes), len(worse), few)
	if len(worse) > 0 {
		return errRegressed
	}
	return nil
}
