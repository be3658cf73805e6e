package sci_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, sleepStress, faultStress, footprintCase)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	eager := map[string]string{"forced-scan": "off"} // a lost flag shows as a hang
	for _, profile := range []string{"live", "paper"} {
		for _, c := range []struct {
			name string
			l    coretest.Launcher
			cfg  core.Config
		}{
			{"processes", spawntest.Processes, core.Config{Threads: core.Many}},
			{"processes-single", spawntest.Processes, core.Config{Threads: core.Single, Sleep: 1}},
			{"goroutines", coretest.Goroutines, core.Config{Threads: core.Many, Sleep: 1}},
			{"goroutines-single", coretest.Goroutines, core.Config{Threads: core.Single}},
		} {
			cfg := c.cfg
			cfg.Conduit, cfg.Profile, cfg.Settings = "sci", profile, eager
			t.Run(profile+"/"+c.name, func(t *testing.T) { coretest.Run(t, c.l, cfg) })
		}
	}
}
