// Cg solves A·x = b by conjugate gradients (Hestenes, Stiefel 1952) for a symmetric positive
// definite matrix from a Matrix Market file, with b such that x is all ones. The rows are
// divided among the ranks; in every step a rank gets the parts of the direction vector that
// its rows need. Rank 0 then computes the residual b - A·x by itself.
//
//	aqrun -n 4 cg --tolerance 1e-10 bcsstk01.mtx
//
// Without a file it takes a Laplacian on a grid of 30 × 30 points.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

//go:embed laplace30.mtx
var laplace30 []byte

func main() {
	flags := pflag.NewFlagSet("cg", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	tolerance := flags.Float64("tolerance", 1e-10, "the norm of the residual at which to stop, relative to that of b")
	limit := flags.Int("limit", 10000, "steps after which to give up")
	err := flags.Parse(os.Args[1:])
	if err == nil && (!(*tolerance > 0 && *tolerance < 1) || *limit < 1 || flags.NArg() > 1) {
		err = errors.New("want --tolerance between 0 and 1, --limit of at least 1 and one file at most")
	}
	aqueduct.Run(func(job *core.Job) error {
		switch {
		case errors.Is(err, pflag.ErrHelp):
			if job.Rank() == 0 {
				fmt.Print("usage: cg [options] [file]\n" + flags.FlagUsages())
			}
			return nil
		case err != nil:
			return &core.ExitError{Status: 2, Reason: fmt.Sprintf("cg: %v; see --help", err)}
		}
		return run(job, flags.Arg(0), *tolerance, *limit)
	})
}

func run(job *core.Job, file string, tolerance float64, limit int) error {
	a, err := load(file)
	if err != nil {
		return err
	}
	ones := make([]float64, a.n)
	for i := range ones {
		ones[i] = 1
	}
	b := a.times(ones)
	s, err := newSolver(job, a, b)
	if err != nil {
		return err
	}
	start := job.Now()
	steps, err := s.solve(tolerance, limit)
	if err != nil {
		return err
	}
	took := job.Now() - start
	if err := s.publish(); err != nil || job.Rank() != 0 {
		return err
	}
	x, err := s.collect()
	if err != nil {
		return err
	}
	// What the solver keeps as the residual drifts from the true one by rounding.
	residual := a.residual(x, b)
	if !(residual <= 10*tolerance+1e-13) {
		return fmt.Errorf("cg: after %d steps the relative residual is %.3g, want %.3g", steps, residual, tolerance)
	}
	_, err = fmt.Printf("%d unknowns, %d entries, on %d ranks: %d steps in %v; the residual is right (below %.0e)\n",
		a.n, len(a.values), job.Size(), steps, took, 10*tolerance)
	return err
}

// load reads the matrix from a file, or takes the built-in one.
func load(file string) (*matrix, error) {
	var in io.Reader = bytes.NewReader(laplace30)
	if file == "" {
		file = "laplace30.mtx"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("cg: %w", err)
		}
		defer f.Close()
		in = f
	}
	a, err := readMatrix(in)
	if err != nil {
		return nil, fmt.Errorf("cg: %s: %w", file, err)
	}
	return a, nil
}

// residual returns the norm of b - a·x relative to that of b.
func (a *matrix) residual(x, b []float64) float64 {
	var num, den float64
	for i, y := range a.times(x) {
		num += (b[i] - y) * (b[i] - y)
		den += b[i] * b[i]
	}
	if num == 0 {
		return 0
	}
	return math.Sqrt(num / den)
}
