// Package myrinetlive_test runs the suite of the Extended API over live Myrinet: GRIM on NICs that goroutines drive, over links in shared memory.
package myrinetlive_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/myrinet"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(m.Run())
}

func TestExtended(t *testing.T) {
	kind := func(name string, l coretest.Launcher, factors string, cfg core.Config) coretest.Kind {
		cfg.Conduit, cfg.Profile = "myrinet", "live"
		return coretest.Kind{Name: name, Share: 5, Launcher: l, Config: cfg, Factors: factors,
			Rest: func(c *coretest.Case) bool {
				few := (name == "goroutines/in-transit" || name == "goroutines/devices") && !coretest.Groups("put", "get", "native", "barrier", "collective", "vis")(c) ||
					(name == "goroutines/scarce" || name == "goroutines/errors") && !coretest.Groups("get", "native", "collective", "split")(c)
				// event/many has a quarter of a million messages, and forced/* are algorithms, which know no network.
				// A large transfer takes a message for each 700 bytes where all is scarce.
				return few || name == "goroutines/scarce" && c.Name == "split/large" || c.Name == "event/many" || coretest.Groups("forced")(c)
			}}
	}
	coretest.Suite(t, exttest.Cases(),
		kind("processes", spawntest.Processes, "processes native", core.Config{Threads: core.Many, Settings: map[string]string{"topology": "mesh:2x2"}}),
		kind("goroutines/shared/messages", coretest.Goroutines, "goroutines messages", core.Config{NoNative: true, Sleep: 1, Settings: map[string]string{"topology": "random:4", "per-host": "2"}}),
		kind("goroutines/devices", coretest.Goroutines, "goroutines native", core.Config{Threads: core.Many, Settings: map[string]string{"per-host": "2", "devices": "1", "device-time": "1ms", "device-blocks": "100"}}),
		kind("goroutines/scarce", coretest.Goroutines, "goroutines native", core.Config{Settings: map[string]string{"queue": "600", "receive": "600", "depth": "1", "buffers": "1", "controls": "1", "long": "700"}}),
		kind("goroutines/errors", coretest.Goroutines, "goroutines native", core.Config{Threads: core.Many, Settings: map[string]string{"topology": "mesh:2x2", "errors": "3000"}}),
		kind("goroutines/in-transit", coretest.Goroutines, "goroutines native", core.Config{Threads: core.Many, Settings: map[string]string{"topology": "ring:5", "routes": "in-transit"}}))
}
