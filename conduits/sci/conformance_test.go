package sci_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func init() {
	core.Register(coretest.Checked("sci"))
	core.Register(coretest.Adverse("sci"))
}

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, append(sharedCases, sleepStress, roomStress, faultStress, footprintCase)...)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	var kinds []coretest.Kind
	for _, profile := range []string{"live", "paper"} {
		for _, c := range []struct {
			name string
			l    coretest.Launcher
			cfg  core.Config
		}{
			{"processes/many", spawntest.Processes, core.Config{Threads: core.Many}},
			{"processes/single", spawntest.Processes, core.Config{Threads: core.Single, Sleep: 1}},
			{"goroutines/many", coretest.Goroutines, core.Config{Threads: core.Many, Sleep: 1}},
			{"goroutines/single", coretest.Goroutines, core.Config{Threads: core.Single}},
		} {
			cfg := c.cfg
			cfg.Conduit, cfg.Profile, cfg.Settings = "sci", profile, eager
			kinds = append(kinds, coretest.Kind{Name: profile + "/" + c.name, Launcher: c.l, Config: cfg})
		}
	}
	wrapped := func(name, conduit, profile string, l coretest.Launcher, sleep time.Duration) {
		kinds = append(kinds, coretest.Kind{
			Name: name, Launcher: l, Factors: conduit, Share: 4, // loopback runs through all of the suite wrapped
			Config: core.Config{Conduit: conduit, Profile: profile, Sleep: sleep, Settings: eager},
		})
	}
	wrapped("checked", "checked-sci", "live", spawntest.Processes, 0)
	wrapped("checked/goroutines", "checked-sci", "live", coretest.Goroutines, 0)
	wrapped("checked/paper", "checked-sci", "paper", coretest.Goroutines, 0)
	wrapped("adverse", "adverse-sci", "live", coretest.Goroutines, 1)
	wrapped("adverse/paper", "adverse-sci", "paper", coretest.Goroutines, 1)
	coretest.Suite(t, coretest.Cases(), kinds...)
}

// eager has a lost flag show as a hang.
var eager = map[string]string{"forced-scan": "off"}

// With more senders than a poll looks at one by one, those who have written are told from
// the others by hints.
func TestManySenders(t *testing.T) {
	var few, some []*coretest.Case // few in processes
	for _, c := range coretest.Cases() {
		wide := *c
		wide.Ranks = []int{17}
		group, _, _ := strings.Cut(c.Name, "/")
		switch c.Name {
		case "wait/idle", "flood/all-to-all-replies":
			few = append(few, &wide)
		case "message/arguments", "context/ping-pong-4", "context/prepared", "progress/late", "progress/poller":
			group = "flood"
		}
		switch group {
		case "order", "flood", "barrier":
			some = append(some, &wide)
		}
	}
	kinds := func(l coretest.Launcher) (both []coretest.Kind) {
		for _, threads := range []core.Threads{core.Single, core.Many} {
			cfg := core.Config{Conduit: "sci", Threads: threads, Sleep: 1, Settings: eager}
			both = append(both, coretest.Kind{Name: threads.String(), Launcher: l, Config: cfg, Factors: "any"})
		}
		return both
	}
	t.Run("processes", func(t *testing.T) { coretest.Suite(t, few, kinds(spawntest.Processes)...) })
	t.Run("goroutines", func(t *testing.T) { coretest.Suite(t, some, kinds(coretest.Goroutines)...) })
}

// Processes with several contexts that sleep whenever they can. Where goroutines pass one
// message to and fro this takes many times as long, so those cases are left out.
func TestAsleep(t *testing.T) {
	var some []*coretest.Case
	for _, c := range coretest.Cases() {
		group, _, _ := strings.Cut(c.Name, "/")
		switch {
		case c.Name == "context/prepared", c.Name == "context/ping-pong-2", c.Name == "progress/late", c.Name == "progress/register",
			group == "flood", group == "wait", group == "barrier", group == "negotiation":
			some = append(some, c)
		}
	}
	var kinds []coretest.Kind
	for _, profile := range []string{"live", "paper"} {
		cfg := core.Config{Conduit: "sci", Profile: profile, Threads: core.Many, Sleep: 1, Settings: eager}
		kinds = append(kinds, coretest.Kind{Name: profile, Launcher: spawntest.Processes, Config: cfg, Factors: "any"})
	}
	coretest.Suite(t, some, kinds...)
}
