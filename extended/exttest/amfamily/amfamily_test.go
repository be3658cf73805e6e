// Package amfamily_test runs the suite of the Extended API over the modelled systems of the Active Message family.
package amfamily_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/amfamily/conduit"
)

// slow are cases left to quicker models: they send most messages, or compute most of the time.
var slow = []string{"event/many", "atomic/many", "progress/thousands", "region/apart", "vis/put", "vis/get", "collective/movement"}

// TestExtended runs a share of the cases that are not slow over each of the systems. The groups that move much are left out over SSAM, to which every cell
// is several events, and with ranks that sleep, which move it as those do that poll.
func TestExtended(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	kind := func(name string, most int, why string, without ...string) coretest.Kind {
		return coretest.Kind{
			Name: name, Share: 4, Launcher: coretest.Model, Config: core.Config{Conduit: name}, Factors: "messages", Most: most, Why: why,
			Only: func(c *coretest.Case) bool { return without == nil || !coretest.Groups(without...)(c) },
		}
	}
	cases := slices.DeleteFunc(exttest.Cases(), func(c *coretest.Case) bool {
		return coretest.Groups("forced")(c) || slices.Contains(slow, c.Name)
	})
	sleeping := kind("amii", 4, "more ranks send more packets than are worth the time", "put", "collective", "memset")
	sleeping.Name, sleeping.Config.Settings = "amii-sleep", map[string]string{"wait": "sleep"}
	coretest.Suite(t, cases,
		sleeping,
		kind("am", 0, ""),
		kind("amii", 4, "more ranks send more packets than are worth the time"),
		kind("hpam", 4, "24 receive buffers are enough for 4 workstations"),
		kind("ssam", 10, "an input FIFO is enough for 10 workstations", "put", "collective", "allocation", "memset"))
}
