package coretest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Launcher runs jobs of one kind.
type Launcher interface {
	// Offers says what the jobs can do: of Live, Modelled, Processes, Unwinding and Kills.
	Offers() Offer
	// Launch runs one job to its end. It fails t, with the stacks of the ranks if it can,
	// when the job does not end in time.
	Launch(t testing.TB, l *Launch) *Outcome
}

// Launch describes one job to a Launcher.
type Launch struct {
	Case    *Case
	Ranks   int
	Config  core.Config
	Dir     string        // an empty directory of the job's own
	Timeout time.Duration // after which the job hangs
}

// timeout is the watchdog's: far more than any case takes.
const timeout = time.Minute

// Run runs the whole suite with jobs of one kind, each case as a sub-test of t.
func Run(t *testing.T, l Launcher, cfg core.Config) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { RunCase(t, l, cfg, c) })
	}
}

// RunCase runs one case, which may be a conduit's own, at all its job sizes.
func RunCase(t *testing.T, l Launcher, cfg core.Config, c *Case) {
	t.Helper()
	offers := l.Offers()
	if offers&Live != 0 && cfg.Threads == core.Many {
		offers |= Threads
	}
	if !shm.RaceEnabled {
		offers |= Plain
	}
	if lack := offers.missing(c.Needs); lack != "" {
		t.Skipf("needs %s", lack)
	}
	if c.Config != nil {
		c.Config(&cfg)
	}
	for _, n := range c.Ranks {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			launch(t, l, cfg, c, n)
		})
	}
}

// launch runs one job and judges its outcome.
func launch(t *testing.T, l Launcher, cfg core.Config, c *Case, n int) {
	t.Helper()
	start := time.Now()
	o := l.Launch(t, &Launch{Case: c, Ranks: n, Config: cfg, Dir: t.TempDir(), Timeout: timeout * time.Duration(scale())})
	o.Elapsed = time.Since(start)
	if err := c.Judge(o); err != nil {
		t.Errorf("rule: %s\nbroken by %d ranks: %v\nstatus %d, error: %v\noutput:\n%s", c.Rule, n, err, o.Status, o.Err, o.Output)
		return
	}
	if _, reason, ok := strings.Cut(o.Output, skipMark); ok {
		reason, _, _ = strings.Cut(reason, "\n")
		t.Skip(reason)
	}
}
