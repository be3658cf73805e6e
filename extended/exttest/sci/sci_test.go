// Package sci_test runs the suite of the Extended API over modelled SCI.
package sci_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

// TestExtended runs shares of the suite on two machines, with the native powers of SCI and without. All
// algorithms of collectives are compared over quicker networks. As many operations as there can be are modelled packet by
// packet, which takes long: they belong to the rest, and as a quarter of a million messages are left out.
func TestExtended(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	kind := func(name, factors string, cfg core.Config) coretest.Kind {
		cfg.Conduit = "sci"
		return coretest.Kind{Name: name, Share: 3, Launcher: coretest.Model, Config: cfg, Factors: factors,
			Only: func(c *coretest.Case) bool { return c.Name != "event/many" || factors == "native" },
			Rest: func(c *coretest.Case) bool { return c.Name == "event/many" }}
	}
	cases := slices.DeleteFunc(exttest.Cases(), coretest.Groups("forced"))
	coretest.Suite(t, cases,
		kind("d339", "native", core.Config{Profile: "d339"}),
		kind("d339/messages", "messages", core.Config{Profile: "d339", NoNative: true}),
		kind("scale", "native", core.Config{Profile: "scale"}))
}
