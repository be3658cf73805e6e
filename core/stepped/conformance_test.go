package stepped_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
)

// left are the cases and groups that are left out: those of thousands of messages, each of which takes several frames, those that count
// allocations, of which a frame is one, and those of deferred calls, which no process runs that leaves.
var left = []string{
	"flood/", "order/", "immediate/", "negotiation/immediate", "wait/monotone", "wait/poll", "barrier/all-sizes", "model/loss",
	"one-sided/many", "one-sided/messages", "one-sided/atomic-operations", "allocation/", "panic/", "model/exit-unwinds",
}

// TestConformance runs the suite with ranks at the other ends of sockets. Each job must be that of coroutines to the last event.
func TestConformance(t *testing.T) {
	some := func(c *coretest.Case) bool {
		for _, name := range left {
			if strings.HasPrefix(c.Name, name) {
				return false
			}
		}
		return true
	}
	coretest.Suite(t, coretest.Cases(), coretest.Kind{
		Name: "native", Launcher: coretest.Stepped, Config: core.Config{Conduit: "loopback", Profile: "native", Seed: 1},
		Only: some, Most: 3, Why: "each takes time, and more ranks bring nothing new to a socket",
	})
}
