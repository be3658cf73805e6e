package libmpitest

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Setting is a configuration of the conduit that a suite runs with.
type Setting struct {
	Name   string
	Config core.Config // but for conduit and profile
	Only   func(*coretest.Case) bool
	Share  int // see coretest.Kind
}

// rest is what the pairs run over the other library alone, if both are there. What debug checks, and those of the
// Extended API, find is found before a library is called, and MPICH's launcher starts a job in half the time. In calls
// that wait for all ranks, as those that make communicators and windows, MPICH does not give the CPU away.
var rest = map[string]func(*coretest.Case) bool{
	"openmpi": coretest.Groups("debug", "disagreement", "hang"),
	"mpich":   func(c *coretest.Case) bool { return slices.Min(c.Ranks) > 4 },
}

// Suite runs cases over both libraries with the settings, with 2 and 4 ranks if a case is for these,
// else with the least number that it is for: each case over one of the libraries, each group of cases over both with each setting. A library that is not there is skipped. One job runs at a
// time: jobs beside each other would take each other's time, see rest.
func Suite(t *testing.T, cases []*coretest.Case, settings ...Setting) {
	few := make([]*coretest.Case, len(cases))
	for i, c := range cases {
		c := *c
		c.Ranks = sizes(c.Ranks)
		few[i] = &c
	}
	var kinds []coretest.Kind
	both := !slices.ContainsFunc(Libraries, func(library string) bool { return lack(library) != nil })
	for _, library := range Libraries {
		if lack(library) != nil {
			t.Run(library, func(t *testing.T) { Launcher(t, library) }) // says so
			continue
		}
		l := Launcher(t, library)
		for _, s := range settings {
			s.Config.Conduit, s.Config.Profile = "mpi", library
			k := coretest.Kind{Name: library + "/" + s.Name, Launcher: l, Config: s.Config, Only: s.Only, Share: s.Share, Factors: "mpi"}
			if both {
				k.Rest = rest[library]
			}
			if shm.RaceEnabled && k.Share == 0 { // the libraries, which take most of the time, are none of its business
				k.Share = 3
			}
			kinds = append(kinds, k)
		}
	}
	coretest.Suite(t, few, kinds...)
}

// sizes chooses the sizes of job to run a case at.
func sizes(ranks []int) []int {
	var some []int
	for _, n := range ranks {
		if n == 2 || n == 4 {
			some = append(some, n)
		}
	}
	if some == nil {
		some = []int{slices.Min(ranks)}
	}
	return some
}
