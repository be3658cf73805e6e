package exttest_test

import (
	"testing"

	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// TestExtendedOverUDP runs the suite over sockets: with large and small datagrams, with and
// without the kernel's help, under each way to protect them.
func TestExtendedOverUDP(t *testing.T) {
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"processes", spawntest.Processes, core.Config{}},
		{"goroutines", coretest.Goroutines, core.Config{
			Threads: core.Single, Debug: true, Settings: map[string]string{"security": "none", "gso": "off", "gro": "off", "datagram": "1472"},
		}},
		{"encrypt", coretest.Goroutines, core.Config{
			Sleep: 1, Settings: map[string]string{"security": "encrypt", "datagram": "1472", "depth": "4", "window": "8"},
		}},
	} {
		c.cfg.Conduit = "udp"
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
