// Package udp_test runs the suite of the Extended API over sockets.
package udp_test

import (
	"os"
	"slices"
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

// TestExtended runs a share of the suite as jobs are by default, and one with
// little of everything, datagrams of the size of a network's, and no help of the kernel.
func TestExtended(t *testing.T) {
	coretest.Suite(t, exttest.Cases(), []coretest.Kind{
		{Name: "processes", Share: 3, Launcher: spawntest.Processes, Config: core.Config{Conduit: "udp"}, Factors: "udp",
			// All algorithms of collectives, which know no network: there are enough of them in the rest.
			Only: func(c *coretest.Case) bool { return !coretest.Groups("forced")(c) }},
		{Name: "small", Share: 3, Launcher: coretest.Goroutines, Factors: "udp",
			// 65,535 operations are more than any depth: once is enough, and four at a time take half a minute.
			Only: func(c *coretest.Case) bool { return c.Name != "event/many" },
			// What is large goes in a thousand pieces here, each sealed. Collectives know no network.
			Rest: func(c *coretest.Case) bool {
				return coretest.Groups("forced")(c) || slices.Contains([]string{"allocation/large", "put/large", "memset/sizes"}, c.Name)
			},
			Config: core.Config{
				Conduit: "udp", Threads: core.Single, Debug: true,
				Settings: map[string]string{"security": "encrypt", "gso": "off", "gro": "off", "datagram": "1472", "depth": "4", "window": "8"},
			}},
	}...)
}
