package stepped_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

// TestConformance runs the suite with ranks at the other ends of sockets. Each job must be that of coroutines to the last event.
func TestConformance(t *testing.T) {
	some := func(c *coretest.Case) bool { return !strings.HasPrefix(c.Name, "allocation/") } // a frame is one
	kind := func(name string, cfg core.Config) coretest.Kind {
		return coretest.Kind{Name: name, Launcher: coretest.Stepped, Config: cfg, Only: some, Factors: name, Most: 4, Why: "each message takes several frames"}
	}
	coretest.Suite(t, coretest.Cases(),
		kind("sci", core.Config{Conduit: "sci", Profile: "d339", Seed: 1}),
		kind("native", core.Config{Conduit: "loopback", Profile: "native", Seed: 1}))
}
