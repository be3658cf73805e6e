package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/topology"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// about says what each option means, whatever command has it. What differs between commands, such as defaults, the
// commands' own texts say.
var about = map[string]string{
	"algorithm":  "`NAME` of the algorithm, with :parameter if it has one (default a logarithmic one)",
	"beside":     "the operation pingpong measures Shorts beside those of another conduit, `CONDUIT` or CONDUIT/PROFILE, by jobs in turn",
	"conduit":    "`NAME` of the conduit to measure",
	"conduits":   "`LIST` of what to compare, each a conduit, CONDUIT:PROFILE, or with live: or modelled: before it (default all that can be used here)",
	"contexts":   "`LIST` of numbers of contexts, each a goroutine's, for the operation contexts; without --op, that is all that is measured then, and with --threads many",
	"cost":       "cost `MODEL`; see go doc ./extended/coll/cost ParseProfile",
	"csv":        "also write numbers and points as CSV to this `FILE`; - is standard output, which has no report then",
	"format":     "`FORMAT` of the report on standard output: " + strings.Join(bench.Formats(), ", ") + "; of paper: " + strings.Join(paperFormats, ", ") + "; of topology: " + strings.Join(topologyFormats, ", "),
	"full":       "all sizes and repetitions; takes a while",
	"goroutines": "ranks are goroutines of one process: no pinning, no floors",
	"host":       "`LIST` of hosts among which ranks are divided in order, by agents as of aqrun; other implementations that can be are there too",
	"hosts":      "`NUMBER` of hosts of each switch of a shape",
	"in-order":   "keep the order of time even if the model does not need it",
	"launcher":   "as of aqrun: how agents are started on the hosts, by `NAME` or a command (default ssh)",
	"machine":    "`NAME` of a machine, or the path of a machine file",
	"messages":   "`NUMBER` of messages, events or turns of a sample, about",
	"model":      "ranks run in virtual time on the model `NAME`, a conduit or CONDUIT/MODEL: no floors; list lists the models",
	"np":         "`LIST` of numbers of ranks",
	"op":         "`LIST` of operations to measure (default all)",
	"output":     "write the page to this `FILE`; - is standard output",
	"profile":    "`NAME` of a profile of the conduit, default, or all",
	"quick":      "a few samples of a few points, where no other option says how many",
	"resume":     "continue the comparison that was written to this `FILE`, with the same other options",
	"root":       "`NAME` of the switch at the root of the tree (default the one in the middle)",
	"route":      "two `HOSTS`, joined by a comma, the route between which is drawn",
	"samples":    "`NUMBER` of samples of each point",
	"scheme":     "`NAME` of the routes: " + strings.Join(topology.Schemes(), ", ") + "; shortest takes the shortest ways whatever is legal, so packets may deadlock",
	"seed":       "`NUMBER` that seeds all that is random",
	"set":        "further settings of the conduit, `KEY=VALUE`, as of aqrun; repeatable",
	"sizes":      "`LIST` of sizes in bytes, or with a unit: 8,64K,1M",
	"svg":        "draw as SVG to `PATH`",
	"text":       "as --format text",
	"threads":    "`MODE` of threads: single, many, or all",
	"title":      "`TEXT` at the top of the page",
	"traffic":    "payload in `BYTES`, or with a unit, of packets that all hosts send to random others as fast as they can (default no traffic)",
	"tolerance":  "a ratio may grow by so many `PERCENT`",
	"write":      "write to this `FILE`: tune the table, instead of to standard output, and one that exists is where the choices come from that are not measured; compare lines of JSON as they are measured, to a new file",
}

// checkEmpty refuses options that take a text and have an empty one: such comes from a variable of a script that is not set, and is no
// wish for the default.
func checkEmpty(f *pflag.FlagSet) (err error) {
	f.Visit(func(o *pflag.Flag) {
		if o.Value.Type() == "string" && o.Value.String() == "" {
			err = errors.Join(err, fmt.Errorf("--%s is empty; give a text, or leave the option out", o.Name))
		}
	})
	return err
}

// checkFormat refuses a format that a verb has not which has no results by size, as those that bench's formats are for.
func checkFormat(cmd *cobra.Command, format string, known []string) error {
	switch {
	case slices.Contains(known, format):
		return nil
	case slices.Contains(bench.Formats(), format):
		return fmt.Errorf("--format %s is of verbs that measure by size or number of ranks; %s has %s", format, cmd.Name(), strings.Join(known, ", "))
	}
	return fmt.Errorf("unknown format %q; known: %s", format, strings.Join(known, ", "))
}

// common are the options that every verb with a report has. Each means the same in all verbs.
type common struct {
	*pflag.FlagSet
	format string
	ops    []string
	known  []string // operations
	np     []int
}

// newCommon adds the common options to those of a verb, and to its text which operations it has, and which numbers of ranks there
// are without -n.
func newCommon(cmd *cobra.Command, known []string, ranks string) *common {
	c := &common{FlagSet: cmd.Flags(), known: known}
	c.SortFlags = false
	c.StringVar(&c.format, "format", bench.Formats()[0], about["format"])
	c.StringSliceVar(&c.ops, "op", nil, about["op"])
	c.IntSliceVarP(&c.np, "np", "n", nil, about["np"])
	if cmd.Long == "" {
		cmd.Long = "Measures " + cmd.Short + "."
	}
	cmd.Long += fmt.Sprintf("\n\nOperations: %s.\n\nNumbers of ranks: %s.", strings.Join(known, ", "), ranks)
	cli.Values(cmd, "format", bench.Formats)
	cli.Values(cmd, "op", func() []string { return known })
	cli.Unknown(cmd, "np")
	return c
}

// encoder checks the common options, which have been read, and returns the encoder of the report on stdout.
func (c *common) encoder(args []string, stdout io.Writer) (bench.Encoder, error) {
	if err := checkEmpty(c.FlagSet); err != nil {
		return nil, err
	}
	if err := cli.NoOperands(args); err != nil {
		return nil, err
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

// size is an option: a number of bytes, such as 512 or 8K; 0 too.
type size int

// String implements pflag.Value.
func (s *size) String() string { return (&sizes{int(*s)}).String() }

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, err := core.ParseSize(text, 0)
	if err == nil {
		*s = size(n)
	}
	return err
}

// Type implements pflag.Value.
func (*size) Type() string { return "size" }
