package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/compare"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// comparison are the options of the verb compare.
type comparison struct {
	*common
	quick, full   bool
	conduits      []string
	write, resume string
	bytes         sizes
	samples       int
	like          []*bench.Line // nothing is measured of which these results have not the like; nil: everything is
}

// tables is the format for people: of compare a table for each quantity, with a column for each conduit.
const tables = "table"

// compareCommand makes the command of the verb compare.
func compareCommand(cmd *cobra.Command) {
	c := &comparison{common: newCommon(cmd, compare.Ops(), "of collectives, and the largest of start-up; default 2,4,8; --quick 2,4; --full 2,4,8,16")}
	cmd.Long = `Measures every conduit that can be used here, live and on models, beside floors in C and other
projects' programs that are installed. It takes some ten minutes, --quick less than two, --full
hours. An interrupted run reports what was measured; with --write, --resume continues it.` + strings.TrimPrefix(cmd.Long, "Measures "+cmd.Short+".")
	c.BoolVar(&c.quick, "quick", false, about["quick"])
	c.BoolVar(&c.full, "full", false, about["full"])
	c.StringSliceVar(&c.conduits, "conduits", nil, about["conduits"])
	c.Var(&c.bytes, "sizes", about["sizes"])
	c.IntVar(&c.samples, "samples", 0, about["samples"])
	c.StringVar(&c.write, "write", "", about["write"])
	c.StringVar(&c.resume, "resume", "", about["resume"])
	cli.Unknown(cmd, "conduits", "sizes", "samples")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// extent returns how much is to be measured.
func (c *comparison) extent() (e compare.Extent, err error) {
	e = compare.Default
	switch {
	case c.quick && c.full:
		return e, errors.New("--quick and --full exclude each other")
	case c.quick:
		e = compare.Quick
		e.Weight = min(e.Weight, quickWeight)
	case c.full:
		e = compare.Full
	}
	if c.like != nil {
		e.Ops = slices.DeleteFunc(slices.Clone(e.Ops), func(op string) bool {
			return !slices.ContainsFunc(c.like, func(l *bench.Line) bool { return l.Params["op"] == op })
		})
	}
	if len(c.ops) > 0 {
		e.Ops, e.Name = c.ops, e.Name+" --op "+strings.Join(c.ops, ",")
	}
	if len(c.bytes) > 0 {
		e.Sizes, e.Name = c.bytes, e.Name+" --sizes "+c.bytes.String()
	}
	if c.Changed("np") {
		e.Ranks, e.Name = c.np, e.Name+" -n "+commas(c.np)
	}
	if c.Changed("samples") {
		e.Samples, e.Name = c.samples, fmt.Sprintf("%s --samples %d", e.Name, c.samples)
	}
	switch {
	case e.Samples < 1:
		return e, fmt.Errorf("--samples %d; want at least 1", e.Samples)
	case slices.ContainsFunc(e.Ranks, func(n int) bool { return n < 2 || n > mostNP }):
		return e, fmt.Errorf("-n %v; want 2 to %d ranks", e.Ranks, mostNP)
	case slices.ContainsFunc(e.Sizes, func(n int) bool { return n < 1 || n > runner.MaxSize || n%coll.Element != 0 }):
		return e, fmt.Errorf("--sizes %s; want 1 to %d bytes, multiples of %d", &c.bytes, runner.MaxSize, coll.Element)
	case c.write != "" && c.resume != "":
		return e, errors.New("--write and --resume exclude each other: a file that is continued is written to")
	}
	return e, nil
}

// subjects returns what is measured of what there is: all conduits but loopback, which is for tests, unless they are named.
func (c *comparison) subjects(note func(string)) ([]compare.Subject, error) {
	cpus, err := runner.CPUs()
	if err != nil || len(cpus) < 2 {
		cpus = nil
	}
	all, missing := compare.Find(cpus, c.full || c.conduits != nil || c.like != nil)
	if c.like != nil {
		all = slices.DeleteFunc(all, func(s compare.Subject) bool { return !slices.ContainsFunc(c.like, s.Measured) })
		return append(compare.Beside(all, cpus), all...), nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s compare.Subject) bool { return s.Name == "loopback" })
	if c.conduits == nil {
		for _, m := range missing {
			note("left out: " + m)
		}
	} else if chosen, err = choose(all, c.conduits); err != nil {
		return nil, fmt.Errorf("%w; not usable: %s", err, strings.Join(missing, "; "))
	}
	if len(cpus) == 0 {
		note("floors and peers are left out: they want two CPUs that this process may use")
	}
	return append(compare.Beside(chosen, cpus), chosen...), nil
}

// choose returns the subjects that are named, with or without their mode.
func choose(all []compare.Subject, names []string) (chosen []compare.Subject, err error) {
	for _, want := range names {
		n := len(chosen)
		for _, s := range all {
			if s.Name == want || s.Mode()+":"+s.Name == want {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == n {
			var known []string
			for _, s := range all {
				known = append(known, s.Mode()+":"+s.Name)
			}
			return nil, fmt.Errorf("--conduits %s: there is none here; there are %s", want, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// run is the verb compare.
func (c *comparison) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	enc, err := c.encoder(args, stdout)
	if err != nil {
		return cli.Misused(err)
	}
	store, err := c.measure(ctx, stderr)
	if store == nil {
		return err
	}
	if c.format == tables {
		return errors.Join(err, compare.Tables(stdout, store.Lines))
	}
	return errors.Join(err, store.Report(enc))
}

// measure measures what the options say. The store is nil if nothing could be; else it has what was measured, whatever the error.
func (c *comparison) measure(ctx context.Context, stderr io.Writer) (*compare.Store, error) {
	show := &display{w: stderr, live: terminal(stderr)}
	e, err := c.extent()
	if err != nil {
		return nil, cli.Misused(err)
	}
	subjects, err := c.subjects(show.note)
	if err != nil {
		return nil, cli.Misused(err)
	}
	tasks, missing := compare.Tasks(subjects, &e)
	for _, m := range missing {
		show.note("left out: " + m)
	}
	if len(tasks) == 0 {
		return nil, cli.Misused(errors.New("these conduits have none of these operations"))
	}
	store, err := compare.NewStore(c.write)
	if c.resume != "" {
		store, err = compare.Resume(c.resume, tasks)
	}
	if err != nil {
		return nil, cli.Misused(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	err = compare.Measure(ctx, tasks, store, compare.Watch{Begin: show.begin, Note: show.note})
	show.clear()
	if err == nil && len(store.Lines) == 0 {
		err = errors.New("nothing was measured")
	}
	return store, causeOf(ctx, errors.Join(err, store.Close()))
}

// display shows on a terminal what is being measured, in one line. Notes are written wherever they go.
type display struct {
	w    io.Writer
	live bool
}

func (d *display) begin(i, n int, left time.Duration, t *compare.Task) {
	if !d.live {
		return
	}
	rest := ""
	if left > 0 {
		rest = fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	d.clear()
	fmt.Fprintf(d.w, "aqbench compare: %d of %d%s: %s", i, n, rest, t.Name())
}

func (d *display) note(text string) {
	d.clear()
	fmt.Fprintf(d.w, "aqbench compare: %s\n", text)
}

// clear removes the line.
func (d *display) clear() {
	if d.live {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

// terminal reports whether somebody sees what is written to w as it is written.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}
