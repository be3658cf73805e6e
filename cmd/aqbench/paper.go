package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/paper"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// deviates is the exit status if a number of a model is outside its tolerance, or a claim
// does not hold.
const deviates = 3

// paperOptions are those of the verb paper, checked.
type paperOptions struct {
	runs     []paperRun
	machine  string
	seed     uint64
	full     bool
	svg, csv string
	format   string
	list     bool
}

// paperFormats are those of the report: tables for people, one line of JSON for each experiment and machine, and what --csv - writes.
var paperFormats = []string{"text", "json", "csv"}

// A paperRun is an experiment on a machine.
type paperRun struct {
	*paper.Experiment
	setting *paper.Setting
}

// deviations are a line for each number that deviates and each claim that does not hold, as an error.
type deviations []string

func (d deviations) Error() string { return strings.Join(d, "; ") }

// paperCommand makes the command of the verb paper.
func paperCommand(cmd *cobra.Command) {
	var o paperOptions
	var list strings.Builder
	listExperiments(&list)
	cmd.Use = "paper EXPERIMENT... | all | list [option...]"
	cmd.Long = fmt.Sprintf(`Repeats published experiments on models of their machines, or with --machine on another one.

Its exit status: 0 all numbers are within their tolerances and all claims hold, 1 something failed,
also if a connection was made while something was timed, 2 misuse, %d a number deviates or a claim
does not hold, 128 + n signal n has ended it; --csv and --svg have the experiments that were complete. --svg takes a name that ends in %s for the first
figure, or a directory for all.

Experiments:

%s
Machines:

    SCI               %s
    Myrinet           %s
    GRIM              %s
    active messages   %s
    AM-II             %s
    the component     %s`, deviates, paper.SVGSuffix, indent(list.String()), names(paper.SCI), names(paper.Myrinet), names(paper.GRIM), names(paper.AMFamily), names(paper.AM2), names(paper.Component))
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) (known []cobra.Completion, _ cobra.ShellCompDirective) {
		known = []cobra.Completion{"all", "list"}
		for _, e := range paper.All() {
			known = append(known, cobra.CompletionWithDesc(e.Name, e.About))
		}
		return known, cobra.ShellCompDirectiveNoFileComp
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.machine, "machine", "", about["machine"])
	f.Uint64Var(&o.seed, "seed", 0, about["seed"])
	f.BoolVar(&o.full, "full", false, about["full"])
	f.StringVar(&o.format, "format", paperFormats[0], about["format"])
	f.StringVar(&o.svg, "svg", "", about["svg"])
	f.StringVar(&o.csv, "csv", "", about["csv"])
	cli.Unknown(cmd, "seed")
	cli.Values(cmd, "format", func() []string { return paperFormats })
	cli.Values(cmd, "machine", func() (names []string) {
		for _, family := range paper.Families {
			names = append(names, family.Machines()...)
		}
		return names
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runPaper(cmd.Context(), &o, args, cmd)
	}
}

// names lists the machines of a family.
func names(f *paper.Family) string { return strings.Join(f.Machines(), ", ") }

// indent moves lines to where a text has what is not to be filled.
func indent(lines string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n    ") + "\n"
}

// runPaper is the verb paper.
func runPaper(ctx context.Context, o *paperOptions, args []string, cmd *cobra.Command) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := checkFormat(cmd, o.format, paperFormats); err != nil {
		return cli.Misused(err)
	}
	if err := o.complete(cmd.Flags(), args); err != nil {
		return cli.Misused(err)
	}
	if o.list {
		listExperiments(stdout)
		return nil
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	failures, err := o.run(ctx, stdout, stderr)
	if err == nil && len(failures) > 0 {
		return deviations(failures)
	}
	return err
}

// complete refuses what makes no sense, and says what is to be run. The options have been read by f.
func (o *paperOptions) complete(f *pflag.FlagSet, args []string) error {
	if err := checkEmpty(f); err != nil {
		return err
	}
	experiments, list, err := chooseExperiments(args)
	if o.list = list; err != nil || list {
		return err
	}
	if o.machine != "" && slices.Equal(args, []string{"all"}) {
		if experiments, err = allOn(o.machine); err != nil {
			return err
		}
	}
	if err := o.place(experiments, o.machine); err != nil {
		return err
	}
	if o.format == "csv" {
		if o.csv != "" && o.csv != standard {
			return fmt.Errorf("--format csv writes to standard output what --csv %s would have; give one of them", o.csv)
		}
		o.csv = standard
	}
	if o.svg == standard {
		return errors.New("--svg -: standard output has the report; give a file or a directory")
	}
	if len(o.runs) > 1 && strings.HasSuffix(o.svg, paper.SVGSuffix) {
		return fmt.Errorf("--svg %s takes the figure of one experiment on one machine; give a directory", o.svg)
	}
	for _, r := range o.runs {
		r.setting.Seed, r.setting.Full = o.seed, o.full
	}
	return o.checkOutputs()
}

// allOn returns the experiments that can run on a machine.
func allOn(machine string) ([]*paper.Experiment, error) {
	var errs []error
	for _, family := range paper.Families {
		_, err := family.Setting(machine)
		if err == nil {
			return slices.DeleteFunc(paper.All(), func(e *paper.Experiment) bool { return e.Family != family }), nil
		}
		errs = append(errs, fmt.Errorf("as a machine of %s: %w", family.Name, err))
	}
	return nil, errors.Join(errs...)
}

// place says which experiment runs on which machine.
func (o *paperOptions) place(experiments []*paper.Experiment, machine string) error {
	for _, e := range experiments {
		names := e.Machines
		if machine != "" {
			if names = []string{machine}; e.Family != experiments[0].Family {
				return fmt.Errorf("--machine %s is for experiments of one kind; %s is about %s, and %s about %s", machine, experiments[0].Name, experiments[0].Family.Name, e.Name, e.Family.Name)
			}
		}
		for _, name := range names {
			s, err := e.Family.Setting(name)
			if err != nil {
				return err
			}
			o.runs = append(o.runs, paperRun{e, s})
		}
	}
	return nil
}

// checkOutputs fails if a file cannot be written, and makes none.
func (o *paperOptions) checkOutputs() error {
	var files []string
	if o.csv != "" && o.csv != standard {
		files = append(files, o.csv)
	}
	switch {
	case strings.HasSuffix(o.svg, paper.SVGSuffix):
		files = append(files, o.svg)
	case o.svg != "":
		dir := o.svg
		for missing(dir) { // it is made with its first figure
			dir = filepath.Dir(dir)
		}
		files = append(files, filepath.Join(dir, "a figure"))
	}
	for _, path := range files {
		if err := writable(path); err != nil {
			return err
		}
	}
	return nil
}

// missing reports whether there is nothing of that name.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// chooseExperiments reads the operands: list, all, or names.
func chooseExperiments(names []string) (chosen []*paper.Experiment, list bool, err error) {
	switch {
	case len(names) == 0:
		return nil, false, errors.New("which experiment? Give names, all, or list")
	case slices.Equal(names, []string{"list"}):
		return nil, true, nil
	case slices.Equal(names, []string{"all"}):
		return paper.All(), false, nil
	}
	for _, name := range names {
		if name == "list" || name == "all" {
			return nil, false, fmt.Errorf("%s stands alone; %v were given", name, names)
		}
		e, err := paper.ByName(name)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(chosen, e) {
			return nil, false, fmt.Errorf("%s is named twice", name)
		}
		chosen = append(chosen, e)
	}
	return chosen, false, nil
}

func listExperiments(w io.Writer) {
	for _, e := range paper.All() {
		fmt.Fprintf(w, "  %-14s %s\n", e.Name, e.About)
	}
}

// run runs the experiments and writes what comes out. It returns a line for each number that
// deviates and each claim that does not hold. The CSV file has the experiments that were complete when one failed or a
// signal came; if none was, a file that is there stays as it is.
func (o *paperOptions) run(ctx context.Context, stdout, stderr io.Writer) (failures []string, err error) {
	var rows bytes.Buffer
	table := paper.NewCSV(&rows, bench.Conditions())
	save := func() error { return os.WriteFile(o.csv, rows.Bytes(), 0o666) }
	if o.csv == standard {
		out := stdout
		save = func() error { _, err := out.Write(rows.Bytes()); return err }
		stdout = io.Discard
	}
	defer func() { // no signal that ctx takes cuts it off
		if o.csv != "" && rows.Len() > 0 {
			err = errors.Join(err, save())
		}
	}()
	var outcomes []*paper.Outcome
	for i, r := range o.runs {
		fmt.Fprintf(stderr, "aqbench paper: experiment %d of %d: %s\n", i+1, len(o.runs), r.Name)
		out, lines, err := o.one(ctx, r, stdout, stderr)
		if err == nil {
			err = table.Write(r.Experiment, r.setting, out)
		}
		if err != nil {
			return failures, fmt.Errorf("%s: %w", r.Name, err)
		}
		failures = append(failures, lines...)
		outcomes = append(outcomes, out)
	}
	for _, line := range o.unmeasured(outcomes) {
		fmt.Fprintf(stderr, "aqbench paper: %s\n", line)
	}
	return failures, nil
}

// measured runs an experiment until it ends or a signal comes, which leaves it running: the program ends then.
func (r paperRun) measured(ctx context.Context) (*paper.Outcome, error) {
	var out *paper.Outcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err = r.Run(r.setting)
	}()
	select {
	case <-done:
		return out, err
	case <-ctx.Done():
		return nil, causeOf(ctx, ctx.Err())
	}
}

// one runs one experiment.
func (o *paperOptions) one(ctx context.Context, r paperRun, stdout, stderr io.Writer) (out *paper.Outcome, lines []string, err error) {
	e, s := r.Experiment, r.setting
	if s.Full {
		s.Progress = func(c paper.Cost) {
			fmt.Fprintf(stderr, "aqbench paper: %s: %s of %d ranks: %.1f s\n", e.Name, c.What, c.Ranks, c.Seconds)
		}
	}
	out, err = r.measured(ctx)
	if err != nil {
		return nil, nil, err
	}
	write := paper.WriteText
	if o.format == "json" {
		write = paper.WriteJSON
	}
	if err := write(stdout, e, s, out); err != nil {
		return nil, nil, err
	}
	if o.svg != "" {
		names, err := paper.WriteSVG(o.svg, e, out)
		for _, name := range names {
			fmt.Fprintf(stderr, "aqbench paper: wrote %s\n", name)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	failed, err := out.Failures(s.Machine)
	for _, line := range failed {
		lines = append(lines, e.Name+": "+line)
	}
	return out, lines, err
}

// unmeasured returns a line for each number that a machine's file has and no experiment has given, though all
// ran that are about such machines: its name may be misspelt.
func (o *paperOptions) unmeasured(outcomes []*paper.Outcome) (lines []string) {
	ran, given := map[string]int{}, map[string]bool{} // by machine, and number on it
	for i, r := range o.runs {
		ran[r.setting.Profile]++
		for _, n := range outcomes[i].Numbers {
			given[r.setting.Profile+" "+n.Name] = true
		}
	}
	for _, r := range o.runs {
		kin := 0
		for _, e := range paper.All() {
			if e.Family == r.Family {
				kin++
			}
		}
		if ran[r.setting.Profile] < kin {
			continue
		}
		ran[r.setting.Profile] = 0 // said
		for _, g := range r.setting.Goals() {
			if !given[r.setting.Profile+" "+g.Name] {
				lines = append(lines, fmt.Sprintf("%s: %s is published, and no experiment measures it", g.Where, g.Name))
			}
		}
	}
	return lines
}
