// Package sci_test runs the suite of the Extended API over modelled SCI.
package sci_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

// TestExtended runs the suite on two machines, with the native powers of SCI and without. All
// algorithms of collectives are forced once: they know no network.
func TestExtended(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	kind := func(name, factors string, cfg core.Config) coretest.Kind {
		cfg.Conduit = "sci"
		k := coretest.Kind{Name: name, Launcher: coretest.Model, Config: cfg, Factors: factors}
		if name != "d339" { // all algorithms of collectives, which know no network: once is enough
			k.Only = func(c *coretest.Case) bool { return !strings.HasPrefix(c.Name, "forced/") }
		}
		return k
	}
	coretest.Suite(t, exttest.Cases(),
		kind("d339", "native", core.Config{Profile: "d339"}),
		kind("d339/messages", "messages", core.Config{Profile: "d339", NoNative: true}),
		kind("scale", "native", core.Config{Profile: "scale"}))
}
