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
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"processes", spawntest.Processes, core.Config{}},
		{"small", coretest.Goroutines, core.Config{
			Threads: core.Single, Debug: true,
			Settings: map[string]string{"security": "encrypt", "gso": "off", "gro": "off", "datagram": "1472", "depth": "4", "window": "8"},
		}},
	} {
		c.cfg.Conduit = "udp"
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				if c.name == "processes" && strings.HasPrefix(x.Name, "forced/") {
					continue // all algorithms of collectives, which know no network: once is enough
				}
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
