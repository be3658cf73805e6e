package coretest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Twice runs a modelled job two times and fails t unless the same happened in both, by the
// digests of their traces, and both end alike: whatever of the host or of chance had an
// influence shows. It returns what ended the job.
func Twice(t testing.TB, n int, cfg core.Config, body func(*core.Job) error) error {
	t.Helper()
	return twice(t, cfg, func(_ int, cfg core.Config) error { return core.RunModel(n, cfg, body) })
}

// twice is Twice for any run of a modelled job, which is given its number and configuration.
func twice(t testing.TB, cfg core.Config, run func(i int, cfg core.Config) error) error {
	t.Helper()
	var digests [2]vtime.Digest
	cfg.Trace = &digests[0]
	first := run(0, cfg)
	cfg.Trace = &digests[1]
	if second := run(1, cfg); core.StatusOf(second) != core.StatusOf(first) {
		t.Errorf("two runs differ: one ended with %v, the next with %v", first, second)
	}
	if digests[0].Sum() != digests[1].Sum() {
		t.Errorf("two runs differ: %v", difference(cfg, run))
	}
	return first
}

// difference runs the job two more times to find where the traces part.
func difference(cfg core.Config, run func(i int, cfg core.Config) error) error {
	var trace bytes.Buffer
	cfg.Trace = &trace
	_ = run(2, cfg)
	again := &comparison{want: trace.Bytes()}
	cfg.Trace = again
	_ = run(3, cfg)
	if err := again.end(); err != nil {
		return err
	}
	return errors.New("but two more runs do not")
}

// comparison is a writer that compares what it is given with what it wants.
type comparison struct {
	want []byte
	line int    // lines that were equal
	part []byte // of the present line
	diff error  // the first difference
}

// Write never fails, so that the run it watches goes on.
func (c *comparison) Write(b []byte) (int, error) {
	c.part = append(c.part, b...)
	for c.diff == nil {
		got, rest, ok := bytes.Cut(c.part, []byte("\n"))
		if !ok {
			break
		}
		want, left, _ := bytes.Cut(c.want, []byte("\n"))
		if !bytes.Equal(got, want) {
			c.diff = fmt.Errorf("line %d of the trace is\n%s\nand was\n%s", c.line+1, got, want)
		}
		c.part, c.want = rest, left
		c.line++
	}
	return len(b), nil
}

// end returns the first difference.
func (c *comparison) end() error {
	if c.diff == nil && len(c.want) > 0 {
		return fmt.Errorf("the second trace ends after line %d", c.line)
	}
	return c.diff
}
