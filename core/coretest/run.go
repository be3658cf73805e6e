package coretest

import (
	"flag"
	"fmt"
	"slices"
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

// Sharer is a Launcher that can run one case after another in the same processes.
type Sharer interface {
	Launcher
	// Share returns a Launcher that keeps processes and uses them again until t ends. Several
	// goroutines may use it. Cases that are [Case.Alone] have processes of their own.
	Share(t testing.TB) Launcher
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

// Kind is a kind of job that a suite runs in.
type Kind struct {
	Name     string // unique in its suite; "" only in a suite of one kind, whose sub-tests have no KIND
	Launcher Launcher
	Config   core.Config
	// Factors are the values, separated by spaces, that this kind has of the factors in which the
	// kinds of a suite differ. "" stands for the elements of Name.
	Factors string
	Only    func(*Case) bool // nil, or whether the kind is for a case
	// Parallel has cases run beside each other, where they wait most of the time.
	Parallel bool
}

// Suite runs cases in kinds of jobs, as sub-tests KIND/CASE/n=RANKS of t. Of the combinations of case,
// kind and number of ranks it runs those that cover all pairs, and the part of the others that the
// environment variable AQ_TEST_PART asks for; see [Part]. A selection of sub-tests by go test -run is
// made among all combinations.
//
// What does not apply is no test: a case that needs what a kind does not offer, or whose When says
// so. Jobs of processes are shared by cases as far as the Launcher is a [Sharer].
func Suite(t *testing.T, cases []*Case, kinds ...Kind) {
	p, err := part()
	if err != nil {
		t.Fatal(err)
	}
	if run := flag.Lookup("test.run"); run != nil && strings.Contains(run.Value.String(), "/") {
		p = Part{1, 1}
	}
	shared := map[Launcher]Launcher{}
	for i := range kinds {
		k := &kinds[i]
		if s, ok := k.Launcher.(Sharer); ok {
			if shared[s] == nil {
				shared[s] = s.Share(t)
			}
			k.Launcher = shared[s]
		}
	}
	all := combinations(t, cases, kinds)
	chosen := choose(all, p)
	t.Logf("runs %d of %d combinations", len(chosen), len(all))
	for i := range kinds {
		k := &kinds[i]
		some := slices.DeleteFunc(slices.Clone(chosen), func(x combination) bool { return x.kind != k })
		if k.Name == "" {
			runKind(t, k, some)
		} else {
			t.Run(k.Name, func(t *testing.T) { runKind(t, k, some) })
		}
	}
}

// runKind runs combinations of one kind.
func runKind(t *testing.T, k *Kind, some []combination) {
	for len(some) > 0 {
		c := some[0].c
		var sizes []int
		for ; len(some) > 0 && some[0].c == c; some = some[1:] {
			sizes = append(sizes, some[0].n)
		}
		t.Run(c.Name, func(t *testing.T) {
			if k.Parallel {
				t.Parallel()
			}
			runSizes(t, k.Launcher, k.Config, c, sizes)
		})
	}
}

// combinations returns all that apply, case by case.
func combinations(t *testing.T, cases []*Case, kinds []Kind) []combination {
	apart := make([]map[string]bool, len(kinds))
	for i, k := range kinds {
		apart[i] = probe(t, &k, cases)
	}
	var all []combination
	for _, c := range cases {
		for i := range kinds {
			k := &kinds[i]
			if k.Only != nil && !k.Only(c) || missing(k.Launcher, k.Config, c) != "" || apart[i][c.Name] {
				continue
			}
			for _, n := range c.Ranks {
				all = append(all, combination{c, k, n})
			}
		}
	}
	return all
}

// missing names what the case needs and jobs of this kind do not offer, "" if nothing.
func missing(l Launcher, cfg core.Config, c *Case) string {
	offers := l.Offers()
	if offers&Live != 0 && cfg.Threads == core.Many {
		offers |= Threads
	}
	if !shm.RaceEnabled {
		offers |= Plain
	}
	return offers.missing(c.Needs)
}

// probe runs a job that asks the cases whether they apply, and returns the names of those that do not.
func probe(t testing.TB, k *Kind, cases []*Case) map[string]bool {
	t.Helper()
	if !slices.ContainsFunc(cases, func(c *Case) bool { return c.When != nil }) {
		return nil
	}
	o := k.Launcher.Launch(t, &Launch{Case: probeCase(cases), Ranks: 2, Config: k.Config, Dir: t.TempDir(), Timeout: timeout})
	if err := succeeds(o); err != nil {
		t.Fatalf("kind %q: no rank can say which cases apply: status %d, error: %v\noutput:\n%s", k.Name, o.Status, o.Err, o.Output)
	}
	names := map[string]bool{}
	for line := range strings.Lines(o.Output) {
		if name, ok := strings.CutPrefix(line, apartMark); ok {
			names[strings.TrimSpace(name)] = true
		}
	}
	return names
}

// Run runs the suite of the Core API with jobs of one kind.
func Run(t *testing.T, l Launcher, cfg core.Config) {
	Suite(t, Cases(), Kind{Launcher: l, Config: cfg})
}

// RunCase runs one case, which may be a conduit's own, at all its job sizes. It skips what needs
// more than the jobs offer.
func RunCase(t *testing.T, l Launcher, cfg core.Config, c *Case) {
	t.Helper()
	if lack := missing(l, cfg, c); lack != "" {
		t.Skipf("needs %s", lack)
	}
	runSizes(t, l, cfg, c, c.Ranks)
}

// runSizes runs a case at some job sizes.
func runSizes(t *testing.T, l Launcher, cfg core.Config, c *Case, sizes []int) {
	t.Helper()
	if c.Config != nil {
		c.Config(&cfg)
	}
	for _, n := range sizes {
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
