package coretest

import (
	"flag"
	"fmt"
	"hash/fnv"
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
	Once    bool          // of a job in virtual time: not a second time, to be compared with the first
}

// timeout is the watchdog's: far more than any case takes, also where the machine does much else.
const timeout = 3 * time.Minute

// Kind is a kind of job that a suite runs in.
type Kind struct {
	Name     string // unique in its suite; "" only in a suite of one kind, whose sub-tests have no KIND
	Launcher Launcher
	Config   core.Config
	// Factors are the values, separated by spaces, that this kind has of the factors in which the
	// kinds of a suite differ. "" stands for the elements of Name.
	Factors string
	Only    func(*Case) bool // nil, or whether the kind is for a case
	Rest    func(*Case) bool // nil, or whether the pairs leave the kind out for a case, which is then part of the rest alone: see [Part]
	Once    bool             // in virtual time a job runs twice in the rest alone
	// AllSizes has the pairs run every case with each of its numbers of ranks, instead of one: where a suite is to find what is
	// wrong with its cases' layer itself, rather than with one of many networks below it.
	AllSizes bool
	// Share has the pairs run one in so many cases of each group, at least one, which the kind's name and configuration decide; 0: all. The others
	// are part of the rest: where other suites have all cases, and little depends on what the kind is.
	Share int
	// Most is the number of ranks of the largest job that the kind carries; 0: there is none. The suite logs how many
	// combinations that leaves out, and Why.
	Most int
	Why  string
}

// Suite runs cases in kinds of jobs, as sub-tests KIND/CASE/n=RANKS of t. Of the combinations of case,
// kind and number of ranks it runs those that cover all pairs, and the part of the others that the
// environment variable AQ_TEST_PART asks for; see [Part]. A selection of sub-tests by go test -run is
// made among all combinations.
//
// Under the race detector kinds in virtual time leave all but one case of each group to the rest: their
// ranks take turns, so that it has little to find among them, and takes long over it.
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
		of := some[:1] // one case
		for len(of) < len(some) && some[len(of)].c == of[0].c {
			of = some[:len(of)+1]
		}
		some = some[len(of):]
		t.Run(of[0].c.Name, func(t *testing.T) {
			runSizes(t, of)
		})
	}
}

// combinations returns all that apply, case by case.
func combinations(t *testing.T, cases []*Case, kinds []Kind) []combination {
	apart := make([]map[string]bool, len(kinds))
	for i := range kinds {
		k := &kinds[i]
		apart[i] = probe(t, k, cases)
		if shm.RaceEnabled && k.Launcher.Offers()&Modelled != 0 {
			k.Share = len(cases)
		}
		k.leave(cases)
	}
	var all []combination
	larger := make([]int, len(kinds)) // than Most
	for _, c := range cases {
		for i := range kinds {
			k := &kinds[i]
			if k.Only != nil && !k.Only(c) || missing(k.Launcher, k.Config, c) != "" || apart[i][c.Name] {
				continue
			}
			for _, n := range c.Ranks {
				if k.Most > 0 && n > k.Most {
					larger[i]++
					continue
				}
				all = append(all, combination{c: c, kind: k, n: n})
			}
		}
	}
	for i, n := range larger {
		if n > 0 {
			t.Logf("%s leaves out %d combinations of more than %d ranks: %s", kinds[i].Name, n, kinds[i].Most, kinds[i].Why)
		}
	}
	return all
}

// leave extends the kind's Rest by the cases that its Share leaves to the rest.
func (k *Kind) leave(cases []*Case) {
	if k.Share == 0 {
		return
	}
	groups := map[string][]*Case{}
	for _, c := range cases {
		if (k.Only == nil || k.Only(c)) && (k.Rest == nil || !k.Rest(c)) && missing(k.Launcher, k.Config, c) == "" {
			groups[c.group()] = append(groups[c.group()], c)
		}
	}
	h := fnv.New32a()
	fmt.Fprint(h, k.Name, k.Config.Conduit, k.Config.Profile)
	mine := map[*Case]bool{}
	for _, group := range groups {
		for i := int(h.Sum32() % uint32(min(k.Share, len(group)))); i < len(group); i += k.Share {
			mine[group[i]] = true
		}
	}
	k.Rest = func(c *Case) bool { return !mine[c] }
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
	k := &Kind{Launcher: l, Config: cfg}
	var of []combination
	for _, n := range c.Ranks {
		of = append(of, combination{c: c, kind: k, n: n})
	}
	runSizes(t, of)
}

// runSizes runs a case in one kind of job, at some sizes.
func runSizes(t *testing.T, of []combination) {
	t.Helper()
	cfg := of[0].kind.Config
	if change := of[0].c.Config; change != nil {
		change(&cfg)
	}
	for _, x := range of {
		t.Run(fmt.Sprintf("n=%d", x.n), func(t *testing.T) {
			launch(t, x, cfg)
		})
	}
}

// launch runs one job and judges its outcome.
func launch(t *testing.T, x combination, cfg core.Config) {
	t.Helper()
	c, start := x.c, time.Now()
	o := x.kind.Launcher.Launch(t, &Launch{
		Case: c, Ranks: x.n, Config: cfg, Dir: t.TempDir(), Timeout: timeout * time.Duration(scale()), Once: x.once,
	})
	o.Elapsed = time.Since(start)
	if err := c.Judge(o); err != nil {
		t.Errorf("rule: %s\nbroken by %d ranks: %v\nstatus %d, error: %v\noutput:\n%s", c.Rule, x.n, err, o.Status, o.Err, o.Output)
		return
	}
	if _, reason, ok := strings.Cut(o.Output, skipMark); ok {
		reason, _, _ = strings.Cut(reason, "\n")
		t.Skip(reason)
	}
}
