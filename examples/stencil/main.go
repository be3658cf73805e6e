// Stencil computes how heat spreads in a square plate: explicit steps of the five-point
// stencil on a grid that is divided among the ranks by rows. Each rank puts its outermost
// rows into its neighbours' halos while it computes its other rows, and a barrier ends the
// step. Rank 0 then computes the whole grid by itself and compares every bit.
//
//	aqrun -n 4 stencil --rows 512 --cols 512 --steps 200
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
	flags := pflag.NewFlagSet("stencil", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	var s spec
	flags.IntVar(&s.rows, "rows", 256, "rows of the grid, at least one for each rank")
	flags.IntVar(&s.cols, "cols", 256, "columns of the grid")
	flags.IntVar(&s.steps, "steps", 100, "time steps")
	err := flags.Parse(os.Args[1:])
	if err == nil && (min(s.rows, s.cols) < 1 || max(s.rows, s.cols) > 1<<24 || s.steps < 0 || flags.NArg() > 0) {
		err = errors.New("want --rows and --cols from 1 to 2^24, --steps of at least 0 and no arguments")
	}
	aqueduct.Run(func(job *core.Job) error {
		switch {
		case errors.Is(err, pflag.ErrHelp):
			if job.Rank() == 0 {
				fmt.Print("usage: stencil [options]\n" + flags.FlagUsages())
			}
			return nil
		case err != nil:
			return &core.ExitError{Status: 2, Reason: fmt.Sprintf("stencil: %v; see --help", err)}
		}
		return run(job, s)
	})
}

func run(job *core.Job, s spec) error {
	p, err := newPlate(job, s)
	if err != nil {
		return err
	}
	start := job.Now()
	for range s.steps {
		if err := p.step(); err != nil {
			return err
		}
	}
	took := job.Now() - start
	if job.Rank() != 0 {
		return nil // the final barrier serves rank 0
	}
	got, err := p.collect()
	if err != nil {
		return err
	}
	if err := s.compare(got); err != nil {
		return err
	}
	_, err = fmt.Printf("%d steps of %d × %d on %d ranks in %v; the sequential grid agrees\n", s.steps, s.rows, s.cols, job.Size(), took)
	return err
}
