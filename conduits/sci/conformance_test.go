package sci_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, sleepStress, roomStress, faultStress, footprintCase)
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

// With more senders than a poll looks at one by one, those who have written are told from
// the others by hints.
func TestManySenders(t *testing.T) {
	for _, threads := range []core.Threads{core.Single, core.Many} {
		cfg := core.Config{
			Conduit: "sci", Threads: threads, Sleep: 1,
			Settings: map[string]string{"forced-scan": "off"},
		}
		for _, c := range coretest.Cases() {
			wide := *c
			wide.Ranks = []int{17}
			group, _, _ := strings.Cut(c.Name, "/")
			switch c.Name {
			case "wait/idle", "flood/all-to-all-replies":
				t.Run(fmt.Sprintf("%v/processes/%s", threads, c.Name), func(t *testing.T) {
					coretest.RunCase(t, spawntest.Processes, cfg, &wide)
				})
			case "message/arguments", "context/ping-pong-4", "context/prepared", "progress/late", "progress/poller":
				group = "flood"
			}
			switch group {
			case "order", "flood", "barrier":
				t.Run(fmt.Sprintf("%v/goroutines/%s", threads, c.Name), func(t *testing.T) {
					coretest.RunCase(t, coretest.Goroutines, cfg, &wide)
				})
			}
		}
	}
}

// Processes with several contexts that sleep whenever they can. Where goroutines pass one
// message to and fro this takes many times as long, so those cases are left out.
func TestAsleep(t *testing.T) {
	for _, profile := range []string{"live", "paper"} {
		cfg := core.Config{
			Conduit: "sci", Profile: profile, Threads: core.Many, Sleep: 1,
			Settings: map[string]string{"forced-scan": "off"},
		}
		for _, c := range coretest.Cases() {
			group, _, _ := strings.Cut(c.Name, "/")
			switch {
			case c.Name == "context/prepared", c.Name == "context/ping-pong-2", c.Name == "progress/late", c.Name == "progress/register",
				group == "flood", group == "wait", group == "barrier", group == "negotiation":
				t.Run(profile+"/"+c.Name, func(t *testing.T) { coretest.RunCase(t, spawntest.Processes, cfg, c) })
			}
		}
	}
}
