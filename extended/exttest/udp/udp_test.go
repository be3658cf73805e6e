// Package udp_test runs the suite of the Extended API over sockets.
package udp_test

import (
	"os"
	"strings"
	"testing"

	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(m.Run())
}

// TestExtended runs the suite once as jobs are by default, and once with
// little of everything, datagrams of the size of a network's, and no help of the kernel.
func TestExtended(t *testing.T) {
	coretest.Suite(t, exttest.Cases(), []coretest.Kind{
		{Name: "processes", Launcher: spawntest.Processes, Config: core.Config{Conduit: "udp"}, Factors: "udp",
			// All algorithms of collectives, which know no network: once is enough.
			Only: func(c *coretest.Case) bool { return !strings.HasPrefix(c.Name, "forced/") }},
		{Name: "small", Launcher: coretest.Goroutines, Factors: "udp", Config: core.Config{
			Conduit: "udp", Threads: core.Single, Debug: true,
			Settings: map[string]string{"security": "encrypt", "gso": "off", "gro": "off", "datagram": "1472", "depth": "4", "window": "8"},
		},
			// Of a quarter of a million messages few are under way here.
			Only: func(c *coretest.Case) bool { return c.Name != "event/many" }},
	}...)
}
