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

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench/paper"
)

// deviates is the exit status if a number of a model is outside its tolerance, or a claim
// does not hold.
const deviates = 3

// paperOptions are those of the verb paper, checked.
type paperOptions struct {
	runs     []paperRun
	svg, csv string
	list     bool
}

// A paperRun is an experiment on a machine.
type paperRun struct {
	*paper.Experiment
	setting *paper.Setting
}

// runPaper is the verb paper.
func runPaper(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o paperOptions
	err := o.parse(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "aqbench paper: %v\n", err)
		return 2
	case o.list:
		listExperiments(stdout)
		return 0
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	failures, err := o.run(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "aqbench paper: %v\n", err)
		if i := (interrupted{}); errors.As(err, &i) {
			return 128 + int(i.Signal)
		}
		return 1
	}
	for _, line := range failures {
		fmt.Fprintf(stderr, "aqbench paper: %s\n", line)
	}
	if len(failures) > 0 {
		return deviates
	}
	return 0
}

// parse reads the command line. Help goes to stdout.
func (o *paperOptions) parse(args []string, stdout io.Writer) (err error) {
	f := pflag.NewFlagSet("aqbench paper", pflag.ContinueOnError)
	f.SetOutput(stdout)
	f.Usage = func() {
		fmt.Fprintf(stdout, "usage: aqbench paper EXPERIMENT... | all | list [options]\n\nexperiments:\n")
		listExperiments(stdout)
		fmt.Fprintf(stdout, "\n%s\nexit status: 0 all numbers are within their tolerances and all claims hold, 1 something failed, also if a connection was made while something was timed, 2 misuse, %d a number deviates or a claim does not hold, 128 + n signal n has ended it; --csv and --svg have the experiments that were complete\n", f.FlagUsages(), deviates)
	}
	name := f.String("machine", "", "`NAME` of a machine, or the path of a machine file, instead of those that an experiment is about; of SCI: "+
		strings.Join(paper.SCI.Machines(), ", ")+"; of Myrinet: "+strings.Join(paper.Myrinet.Machines(), ", ")+"; of GRIM: "+strings.Join(paper.GRIM.Machines(), ", ")+"; of active messages: "+strings.Join(paper.AMFamily.Machines(), ", ")+
		"; of AM-II: "+strings.Join(paper.AM2.Machines(), ", ")+"; of the component on Myrinet: "+strings.Join(paper.Component.Machines(), ", "))
	seed := f.Uint64("seed", 0, "`NUMBER` that seeds the model's random numbers")
	full := f.Bool("full", false, "all sizes and repetitions; takes a while")
	f.StringVar(&o.svg, "svg", "", "write the figures as SVG to `PATH`: the first to a name that ends in .svg, or all into a directory")
	f.StringVar(&o.csv, "csv", "", "also write numbers and points as CSV to this `FILE`; - is standard output, which has no report then")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	experiments, list, err := chooseExperiments(f.Args())
	if o.list = list; err != nil || list {
		return err
	}
	if *name != "" && slices.Equal(f.Args(), []string{"all"}) {
		if experiments, err = allOn(*name); err != nil {
			return err
		}
	}
	if err := o.place(experiments, *name); err != nil {
		return err
	}
	if o.svg == standard {
		return errors.New("--svg -: standard output has the report; give a file or a directory")
	}
	if len(o.runs) > 1 && strings.HasSuffix(o.svg, paper.SVGSuffix) {
		return fmt.Errorf("--svg %s takes the figure of one experiment on one machine; give a directory", o.svg)
	}
	for _, r := range o.runs {
		r.setting.Seed, r.setting.Full = *seed, *full
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
	table := paper.NewCSV(&rows)
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
	if err := paper.WriteText(stdout, e, s, out); err != nil {
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
