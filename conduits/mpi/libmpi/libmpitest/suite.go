package libmpitest

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// Run runs cases over a library, several jobs at once, since most of the time goes into starting
// them: with 2 and 4 ranks if a case is for these, else with the least number that it is for.
func Run(t *testing.T, library string, cfg core.Config, cases []*coretest.Case) {
	l := Launcher(t, library)
	cfg.Conduit, cfg.Profile = "mpi", library
	for _, c := range cases {
		c := *c
		c.Ranks = sizes(c.Ranks)
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			coretest.RunCase(t, l, cfg, &c)
		})
	}
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
