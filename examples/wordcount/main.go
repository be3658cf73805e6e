// Wordcount counts words in files, one part of the files on each rank. Every word belongs
// to the rank that its hash names; the ranks send each other their counts in Medium
// messages, and rank 0 collects the most frequent words. With -check, rank 0 counts all
// files again by itself and compares.
//
//	aqrun -n 4 wordcount -check README.md docs
//
// Without arguments it reads the sources of the Go installation.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func main() {
	check := pflag.Bool("check", false, "rank 0 verifies the result by counting sequentially")
	top := pflag.Int("top", 10, "how many words to print")
	pflag.Parse()
	if *top < 0 {
		fmt.Fprintln(os.Stderr, "wordcount: --top must not be negative")
		os.Exit(2)
	}
	aqueduct.Run(func(job *core.Job) error {
		return run(job, pflag.Args(), *top, *check)
	})
}

func run(job *core.Job, roots []string, top int, check bool) error {
	files, err := listFiles(roots)
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
	fmt.Printf("%d files, %d bytes, %d words, %d different, on %d ranks\n",
		len(files), total.bytes, total.words, total.distinct, job.Size())
	for _, w := range mostFrequent(total.counts, top) {
		fmt.Printf("%8d %s\n", total.counts[w], w)
	}
	if !check {
		return nil
	}
	if err := total.compare(files); err != nil {
		return err
	}
	fmt.Println("the sequential count agrees")
	return nil
}
