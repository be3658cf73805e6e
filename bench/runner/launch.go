package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// EnvTask is the environment variable that holds a Task in JSON.
const EnvTask = "AQUEDUCT_BENCH"

// Task is what a rank is told.
type Task struct {
	Verb string
	Plan Plan
}

// seriesMark begins a line that holds a series.
const seriesMark = "aqbench-series: "

// Launch runs one job of n ranks and hands the series that they emit to report, one by one.
// Every rank runs the body that RankMain of the same verb has.
func Launch(ctx context.Context, verb string, p Plan, n int, report func(*bench.Series) error) error {
	prog, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(Task{verb, p})
	if err != nil {
		return err
	}
	lines := &seriesWriter{report: report}
	spec := spawner.Spec{
		N: n, Prog: prog, Env: []string{EnvTask + "=" + string(text)},
		Mode: p.Mode, Conduit: p.Conduit, Stdout: lines, Stderr: os.Stderr,
	}
	if len(p.Hosts) > 0 {
		spec.Hosts, spec.Launch.Launcher = p.Hosts[:min(n, len(p.Hosts))], p.Launcher
		for rank := range n {
			spec.HostOf = append(spec.HostOf, rank*len(spec.Hosts)/n)
		}
	}
	if l := core.LauncherOf(p.Conduit); l != nil && p.Mode == spawner.Processes {
		if spec.Starter, err = l.Starter(p.Profile, n, false); err != nil { // they pin themselves
			return err
		}
	}
	running, err := spawner.Start(ctx, spec)
	if err != nil {
		return err
	}
	if _, err = running.Wait(); err == nil {
		err = lines.err
	}
	return err
}

// RankMain returns unless Launch started this process for the verb. Then it runs body for
// its rank, or all of them, and exits. A program calls it first, once for each benchmark.
func RankMain(verb string, body func(*Plan, *core.Job) error) {
	text, ok := os.LookupEnv(EnvTask)
	if !ok {
		return
	}
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		fmt.Fprintf(os.Stderr, "aqbench: environment variable %s: %v\n", EnvTask, err)
		os.Exit(1)
	}
	if t.Verb != verb {
		return
	}
	aqueduct.Run(func(job *core.Job) error { return body(&t.Plan, job) }, aqueduct.Config(t.Plan.config()))
	os.Exit(0)
}

// Emit sends a series to the launcher.
func Emit(s *bench.Series) error {
	b, err := json.Marshal(s)
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%s%s\n", seriesMark, b)
	}
	return err
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
