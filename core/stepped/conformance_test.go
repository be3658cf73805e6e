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
	all := func(c *coretest.Case) bool {
		return !strings.HasPrefix(c.Name, "allocation/") && !strings.HasPrefix(c.Name, "flood/") // a message takes several frames, each of which is allocated
	}
	some := coretest.Groups("message", "reply", "negotiation", "completion", "wait", "barrier", "one-sided")
	coretest.Suite(t, coretest.Cases(),
		coretest.Kind{Name: "native", Launcher: coretest.Stepped, Config: core.Config{Conduit: "loopback", Profile: "native", Seed: 1}, Only: all, Factors: "native", Most: 3, Why: "frames take time"},
		coretest.Kind{Name: "sci", Launcher: coretest.Stepped, Config: core.Config{Conduit: "sci", Profile: "d339", Seed: 1}, Only: some, Factors: "sci", Most: 3, Why: "frames take time"})
}
