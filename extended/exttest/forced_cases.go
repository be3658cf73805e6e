package exttest

import (
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// forcedCases returns as many cases as the operation with the most algorithms has: case k
// forces algorithm k of every operation that has as many.
func forcedCases() (cases []coretest.Case) {
	for k := 0; ; k++ {
		var choice []string
		for op := coll.Barrier; op < coll.ScatterV; op++ {
			if all := coll.Algorithms(op); k < len(all) {
				choice = append(choice, fmt.Sprintf("%v=%s", op, all[k].Name))
			}
		}
		if choice == nil {
			return cases
		}
		forced := strings.Join(choice, ",")
		cases = append(cases, coretest.Case{
			Name:   fmt.Sprintf("forced/%d", k),
			Rule:   "collectives do the same by whatever algorithm: " + forced,
			Ranks:  []int{3, 4},
			Config: func(cfg *core.Config) { cfg.Collectives = forced },
			Body: func(t *coretest.T) error {
				ep, err := attach(t)
				if err != nil {
					return err
				}
				return errorsOf(t, everyCollective(t, &ep.Context, ep.World()))
			},
		})
	}
}

func everyCollective(t *coretest.T, c *extended.Context, team *extended.Team) error {
	for _, f := range []func(*coretest.T, *extended.Context, *extended.Team) error{
		broadcast, movement, reduction, ordered,
	} {
		ev, err := team.BarrierNB(c)
		if err != nil {
			return err
		}
		if err := f(t, c, team); err != nil { // the barrier is under way meanwhile
			return err
		}
		if err := c.Wait(ev); err != nil {
			return err
		}
	}
	return nil
}
