// Samplesort sorts the lines of files by parallel sampling (Frazer, McKellar 1970). Each
// rank reads and sorts a part, samples of all parts divide the lines among the ranks, and
// every rank puts what belongs to another into its segment, which merges what has come.
// Then the order of all lines is checked, and that they are the ones that were read.
//
//	aqrun -n 4 samplesort --output sorted.txt README.md docs/*.md
//
// Without files it sorts lines of random words.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func main() {
	flags := pflag.NewFlagSet("samplesort", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	var in input
	flags.IntVar(&in.lines, "lines", 100000, "how many random lines to sort when no files are named")
	flags.Uint64Var(&in.seed, "seed", 1, "what random lines depend on")
	output := flags.String("output", "", "write the sorted lines to this file, which all ranks must see")
	err := flags.Parse(os.Args[1:])
	in.files = flags.Args()
	if err == nil {
		switch {
		case in.lines < 0 || in.lines > 1<<32:
			err = errors.New("want --lines from 0 to 2^32")
		case len(in.files) > 0 && (flags.Changed("lines") || flags.Changed("seed")):
			err = errors.New("--lines and --seed are for random lines; leave them out, or the files")
		case flags.Changed("output") && *output == "":
			err = errors.New("--output needs a value")
		}
	}
	aqueduct.Run(func(job *core.Job) error {
		switch {
		case errors.Is(err, pflag.ErrHelp):
			if job.Rank() == 0 {
				fmt.Print("usage: samplesort [options] [file...]\n" + flags.FlagUsages())
			}
			return nil
		case err != nil:
			return &core.ExitError{Status: 2, Reason: fmt.Sprintf("samplesort: %v; see --help", err)}
		}
		return run(job, in, *output)
	})
}

func run(job *core.Job, in input, output string) error {
	s, err := newSorter(job)
	if err != nil {
		return err
	}
	text, err := in.read(int(job.Rank()), job.Size())
	if err != nil {
		return err
	}
	start := job.Now()
	sorted, err := s.sort(lines(text))
	if err != nil {
		return err
	}
	took := job.Now() - start
	total, err := s.check(lines(text), sorted)
	if err != nil {
		return err
	}
	if output != "" {
		if err := s.write(output, sorted); err != nil {
			return err
		}
	}
	if job.Rank() == 0 {
		_, err = fmt.Printf("%d lines, %d bytes, on %d ranks in %v; they are sorted and complete\n", total.Lines, total.Bytes, job.Size(), took)
	}
	return err
}
