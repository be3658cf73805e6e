package coretest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// Case is one rule of the Core API and the job that tests it.
type Case struct {
	Name  string // unique, "group/what"
	Rule  string // what must hold, with its source; shown when it does not
	Ranks []int  // the sizes of job to run it at
	Needs Offer  // what the job must offer for the case to make sense
	// When, unless nil, tells the case from those that make no sense over a conduit. It is asked once
	// for each kind of job, on both ranks of one, and reads from the endpoint what the conduit has.
	When func(*T, *core.Endpoint) bool
	// Apart says that the case does not share its processes with others: it counts on all that
	// happens in them being its own.
	Apart bool

	// Config, when not nil, changes the configuration that the suite runs with.
	Config func(*core.Config)
	// Body is what every rank does. An error ends the job, as in any program.
	Body func(*T) error
	// Want judges the outcome; nil wants a good end.
	Want func(*Outcome) error
}

// Offer is a set of things that a kind of job can do.
type Offer uint

// What a job may offer.
const (
	Live      Offer = 1 << iota // ranks run in real time
	Modelled                    // ranks run in virtual time
	Processes                   // every rank is a process of its own
	Unwinding                   // Exit runs the deferred calls of the rank that calls it
	Kills                       // a rank can be lost, see T.Kill
	Threads                     // several goroutines of a rank may call the library
	Plain                       // the build has no race detector, so that allocations can be counted
)

// offerNames are the reasons for a skip.
var offerNames = []struct {
	offer Offer
	name  string
}{
	{Live, "real time"},
	{Modelled, "virtual time"},
	{Processes, "ranks that are processes"},
	{Unwinding, "ranks that can be unwound"},
	{Kills, "ranks that can be killed"},
	{Threads, "several goroutines per rank"},
	{Plain, "a build without the race detector"},
}

// missing names what is in need and not in o, "" if nothing.
func (o Offer) missing(need Offer) string {
	var names []string
	for _, n := range offerNames {
		if need&^o&n.offer != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " and ")
}

// Outcome is how a job ended.
type Outcome struct {
	Err     error         // what ended the job; nil when it ended well
	Status  int           // its exit status
	Output  string        // what the ranks printed with T.Printf, and for processes all else
	Elapsed time.Duration // real time from start to end
}

// Says reports which of the words occur neither in the error nor in the output.
func (o *Outcome) Says(words ...string) error {
	text := o.Output
	if o.Err != nil {
		text += o.Err.Error()
	}
	var errs []error
	for _, w := range words {
		if !strings.Contains(text, w) {
			errs = append(errs, fmt.Errorf("nothing says %q", w))
		}
	}
	return errors.Join(errs...)
}

// Alone reports whether the case has processes of its own: because it says so, or may end them.
func (c *Case) Alone() bool { return c.Apart || c.Want != nil || c.Needs&(Kills|Unwinding) != 0 }

// probeName is the name of the case that asks others whether they apply.
const probeName = "probe/applies"

// apartMark begins a line that names a case which does not apply.
const apartMark = "coretest: does not apply: "

// probeCase asks the cases whether they apply.
func probeCase(cases []*Case) *Case {
	return &Case{
		Name: probeName, Rule: "a job can tell which cases apply",
		Body: func(t *T) error {
			ep, err := t.Attach(core.AttachSpec{Segment: "4096"})
			if err != nil {
				return err
			}
			for _, c := range cases {
				if c.When != nil && !c.When(t, ep) && t.Rank() == 0 {
					t.side.print(apartMark + c.Name + "\n")
				}
			}
			return ep.Barrier()
		},
	}
}

// Judge returns nil if the outcome of the case's job is what the rule demands.
func (c *Case) Judge(o *Outcome) error {
	if strings.Contains(o.Output, brokenMark) {
		return errors.New("a rank says so")
	}
	if c.Want == nil {
		return succeeds(o)
	}
	return c.Want(o)
}

// succeeds wants a good end.
func succeeds(o *Outcome) error {
	if o.Err != nil || o.Status != 0 {
		return fmt.Errorf("the job failed")
	}
	return nil
}

// endsWith wants an exit status, and words in what was said.
func endsWith(status int, words ...string) func(*Outcome) error {
	return func(o *Outcome) error {
		if o.Status != status {
			return fmt.Errorf("want status %d", status)
		}
		return o.Says(words...)
	}
}

// Cases returns the suite, in reading order: what a conduit should do first comes first.
func Cases() []*Case {
	groups := [][]Case{
		messageCases, queryCases, completionCases, handlerCases, refusalCases, replyCases,
		orderCases, floodCases, immediateCases, negotiationCases, negotiationRefusalCases,
		waitCases, barrierCases, finalCases, attachCases, segmentCases, groupCases, contextCases, progressCases,
		oneSidedCases, collectiveCases, lockCases, exitCases, panicCases, killCases, debugCases(), modelCases,
		allocationCases,
	}
	var all []*Case
	for _, g := range groups {
		for i := range g {
			all = append(all, &g[i])
		}
	}
	return all
}

// Groups returns a function that reports whether a case belongs to one of the groups, to any if none
// is named. The group is what its name begins with.
func Groups(names ...string) func(*Case) bool {
	return func(c *Case) bool {
		return len(names) == 0 || slices.Contains(names, c.group())
	}
}

// group returns the name of the case's group.
func (c *Case) group() string {
	group, _, _ := strings.Cut(c.Name, "/")
	return group
}

// find returns the case of that name, from the suite or from extra.
func find(name string, extra []*Case) *Case {
	all := slices.Concat(Cases(), extra)
	if name == probeName {
		return probeCase(all)
	}
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	return nil
}
