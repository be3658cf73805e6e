package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// misuse is an error of the command line.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// parseFlags reads a command line. An option that takes a text refuses an empty one: such comes from a variable of a
// script that is not set, and is no wish for the default.
func parseFlags(f *pflag.FlagSet, args []string, repeatable ...string) (err error) {
	cli.OnlyOnce(f, repeatable...)
	if err := f.Parse(args); err != nil {
		return err
	}
	f.Visit(func(o *pflag.Flag) {
		if o.Value.Type() == "string" && o.Value.String() == "" {
			err = errors.Join(err, fmt.Errorf("--%s is empty; give a text, or leave the option out", o.Name))
		}
	})
	return err
}

// common are the options that every verb with a report has. Each means the same in all verbs.
type common struct {
	*pflag.FlagSet
	format string
	ops    []string
	known  []string // operations
	np     []int
}

// newCommon returns the common options of a verb. ranks says which numbers of ranks there are
// without -n.
func newCommon(verb string, stdout io.Writer, known []string, ranks string) *common {
	c := &common{FlagSet: pflag.NewFlagSet("aqbench "+verb, pflag.ContinueOnError), known: known}
	c.SetOutput(stdout)
	c.Usage = func() { fmt.Fprintf(stdout, "usage: aqbench %s [options]\n\n%s", verb, c.FlagUsages()) }
	c.StringVar(&c.format, "format", "osu", "`FORMAT` of the report on standard output: "+strings.Join(bench.Formats(), ", "))
	c.StringSliceVar(&c.ops, "op", nil, fmt.Sprintf("`LIST` of operations to measure, of %s (default all)", strings.Join(known, ", ")))
	c.IntSliceVarP(&c.np, "np", "n", nil, "`LIST` of numbers of ranks ("+ranks+")")
	return c
}

// parse reads the command line and returns the encoder of the report on stdout.
func (c *common) parse(args []string, stdout io.Writer) (bench.Encoder, error) {
	if err := parseFlags(c.FlagSet, args, "set"); err != nil {
		return nil, err
	}
	if c.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", c.Arg(0))
	}
	for i, op := range c.ops {
		if !slices.Contains(c.known, op) {
			return nil, fmt.Errorf("unknown operation %q; known: %s", op, strings.Join(c.known, ", "))
		}
		if slices.Contains(c.ops[:i], op) {
			return nil, fmt.Errorf("--op has %s twice", op)
		}
	}
	return bench.NewEncoder(c.format, stdout)
}

// sizes is an option: numbers of bytes, such as 8,4K,1MB.
type sizes []int

// String implements pflag.Value: in the largest unit that leaves no fraction.
func (s *sizes) String() string {
	var words []string
	for _, n := range *s {
		unit := ""
		for _, larger := range []string{"K", "M", "G"} {
			if n == 0 || n%1024 != 0 {
				break
			}
			n, unit = n/1024, larger
		}
		words = append(words, strconv.Itoa(n)+unit)
	}
	return strings.Join(words, ",")
}

// Set implements pflag.Value.
func (s *sizes) Set(list string) error {
	*s = nil
	for word := range strings.SplitSeq(list, ",") {
		n, err := core.ParseSize(word, 0)
		if err != nil {
			return err
		}
		*s = append(*s, n)
	}
	return nil
}

// Type implements pflag.Value.
func (*sizes) Type() string { return "sizes" }
