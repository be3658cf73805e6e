package am

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// Run measures the plan and calls report for each series as it is finished.
func Run(ctx context.Context, p Plan, report func(*bench.Series) error) error {
	var pair bool
	for _, op := range p.Ops {
		switch op {
		case Poll:
			if err := p.each(ctx, "empty poll", op, report, p.pollJob); err != nil {
				return err
			}
		case Start:
			if err := p.each(ctx, "start and end of a job", op, report, p.startJob); err != nil {
				return err
			}
		default:
			if pair { // one job measures all that two ranks do
				continue
			}
			pair = true
			if _, err := launch(ctx, job{Plan: p}, 2, report); err != nil {
				return err
			}
		}
	}
	return nil
}

// each measures op at every number of ranks and reports one series.
func (p *Plan) each(ctx context.Context, title string, op Op, report func(*bench.Series) error, one func(context.Context, int) (bench.Result, error)) error {
	s := &bench.Series{Family: "AM", Title: title, Params: p.params(op), Quantity: bench.Duration, Axis: bench.Ranks}
	for _, n := range p.Ranks {
		r, err := one(ctx, n)
		if err != nil {
			return err
		}
		s.Results = append(s.Results, r)
	}
	return report(s)
}

// pollJob has rank 0 of n poll while the others sleep.
func (p *Plan) pollJob(ctx context.Context, n int) (r bench.Result, err error) {
	_, err = launch(ctx, job{*p, Poll}, n, func(s *bench.Series) error {
		r = s.Results[0]
		return nil
	})
	return r, err
}

// startJob times whole jobs that attach and end.
func (p *Plan) startJob(ctx context.Context, n int) (bench.Result, error) {
	out, err := bench.Interleave(ctx, p.Samples, nil, func() (float64, error) {
		took, err := launch(ctx, job{*p, Start}, n, nil)
		return float64(took.Nanoseconds()), err
	})
	return bench.Result{Ranks: n, Iters: 1, Outcome: out}, err
}

// launch runs one job, hands the series that rank 0 emits to report, and returns how long
// the job took.
func launch(ctx context.Context, j job, n int, report func(*bench.Series) error) (time.Duration, error) {
	prog, err := os.Executable()
	if err != nil {
		return 0, err
	}
	lines := &seriesWriter{report: report}
	start := time.Now()
	running, err := spawner.Start(ctx, spawner.Spec{
		N: n, Prog: prog, Env: j.env(), Stdout: lines, Stderr: os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if _, err = running.Wait(); err == nil {
		err = lines.err
	}
	return time.Since(start), err
}

// seriesWriter picks the series out of the ranks' output, which comes in whole lines, and
// passes the rest on to standard error.
type seriesWriter struct {
	report func(*bench.Series) error
	err    error
}

var _ io.Writer = (*seriesWriter)(nil)

// Write implements io.Writer.
func (w *seriesWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		text, ok := bytes.CutPrefix(line, []byte(seriesMark))
		if !ok {
			os.Stderr.Write(line)
			continue
		}
		s := new(bench.Series)
		if err := json.Unmarshal(text, s); err != nil {
			w.err = fmt.Errorf("bench: a rank sent a malformed series: %w", err)
		} else if err := w.report(s); err != nil {
			w.err = err
		}
	}
	return len(p), nil
}
