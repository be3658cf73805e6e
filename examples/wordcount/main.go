// Wordcount counts words in files, one part of the files on each rank. Every word belongs
// to the rank that its hash names; the ranks send each other their counts in Medium
// messages, and rank 0 collects the most frequent words.
//
//	aqrun -n 4 wordcount --check --top 5 README.md docs
//
// With --check, rank 0 counts all files again by itself and compares. Of a folder it reads
// the regular files below, and follows no symbolic links in it; a file or folder that is
// named may be a link. Without names it reads the sources of the Go installation.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func main() { aqueduct.Run(run) }

const usage = "usage: wordcount [--check] [--top N] [file or folder...]"

// options are what the command line says.
type options struct {
	check bool
	top   int
	roots []string
}

// parse reads the command line. A mistake ends the job with status 2.
func parse(args []string) (o options, err error) {
	flags := pflag.NewFlagSet("wordcount", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	flags.BoolVar(&o.check, "check", false, "")
	flags.IntVar(&o.top, "top", 10, "")
	err = flags.Parse(args)
	if err == nil && o.top < 0 {
		err = errors.New("--top must not be negative")
	}
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		err = &core.ExitError{Status: 2, Reason: fmt.Sprintf("wordcount: %v; %s", err, usage)}
	}
	o.roots = flags.Args()
	return o, err
}

func run(job *core.Job) error {
	o, err := parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		if job.Rank() == 0 {
			fmt.Println(usage)
		}
		return nil
	}
	if err != nil {
		return err
	}
	files, err := listFiles(o.roots)
	if err != nil {
		return err
	}
	c, err := newCounter(job)
	if err != nil {
		return err
	}
	bytes, err := c.countFiles(files)
	if err != nil {
		return err
	}
	total, err := c.collect(bytes)
	if err != nil || job.Rank() != 0 {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "%d files, %d bytes, %d words, %d different, on %d ranks\n",
		len(files), total.bytes, total.words, total.distinct, job.Size())
	for _, w := range mostFrequent(total.counts, o.top) {
		fmt.Fprintf(out, "%8d %s\n", total.counts[w], w)
	}
	if o.check {
		if err := total.compare(files); err != nil {
			return err
		}
		fmt.Fprintln(out, "the sequential count agrees")
	}
	return out.Flush()
}
