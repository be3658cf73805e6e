// Gups is RandomAccess of the HPC Challenge: random words of a table that all ranks hold
// together are changed by exclusive or. Updates travel in active messages, a bucket for
// each rank, at most 1024 updates waiting in a rank as the rules demand. In the end every
// rank replays the updates of all ranks on a copy of its part and compares: none may be lost.
//
//	aqrun -n 4 gups --log2 20
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

func main() {
	flags := pflag.NewFlagSet("gups", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	log2 := flags.Int("log2", 16, "the table has 2^this words")
	per := flags.Int("updates", 4, "updates per word of the table")
	err := flags.Parse(os.Args[1:])
	if err == nil && (*log2 < 1 || *log2 > 40 || *per < 1 || *per > 1000 || flags.NArg() > 0) {
		err = errors.New("want --log2 from 1 to 40, --updates from 1 to 1000 and no arguments")
	}
	aqueduct.Run(func(job *core.Job) error {
		switch {
		case errors.Is(err, pflag.ErrHelp):
			if job.Rank() == 0 {
				fmt.Print("usage: gups [options]\n" + flags.FlagUsages())
			}
			return nil
		case err != nil:
			return &core.ExitError{Status: 2, Reason: fmt.Sprintf("gups: %v; see --help", err)}
		}
		return run(job, 1<<*log2, *per<<*log2)
	})
}

func run(job *core.Job, words, updates int) error {
	t, err := newTable(job, words)
	if err != nil {
		return err
	}
	me, n := int(job.Rank()), job.Size()
	from, to := share(updates, me, n), share(updates, me+1, n)
	start := job.Now()
	a := nth(uint64(from))
	for range to - from {
		if err := t.update(a); err != nil {
			return err
		}
		a = next(a)
	}
	if err := t.finish(); err != nil {
		return err
	}
	took := job.Now() - start
	wrong, err := pgas.AllReduceValue(&t.ep.Context, t.ep.World(), t.differences(updates), pgas.Add[int64]())
	switch {
	case err != nil:
		return err
	case wrong > 0:
		return fmt.Errorf("gups: %d words of %d differ from a replay", wrong, words)
	case me == 0:
		_, err = fmt.Printf("%d updates of %d words on %d ranks in %v; every word is right\n", updates, words, n, took)
	}
	return err
}

// share returns where part i of n begins.
func share(updates, i, n int) int {
	return updates/n*i + min(i, updates%n)
}
