package loopback_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
)

func init() {
	core.Register(coretest.Checked("loopback"))
	core.Register(coretest.Adverse("loopback"))
	core.Register(coretest.Lent("loopback"))
}

func TestConformance(t *testing.T) {
	// One request under way per pair, and ranks that sleep at the first opportunity: whatever
	// loses credits or wake-ups shows here.
	narrow := core.Config{
		Conduit: "loopback", Threads: core.Many, Sleep: 1,
		Settings: map[string]string{"depth": "1"},
	}
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"many", coretest.Goroutines, core.Config{Conduit: "loopback", Threads: core.Many}},
		{"single", coretest.Goroutines, core.Config{Conduit: "loopback", Threads: core.Single}},
		{"narrow", coretest.Goroutines, narrow},
		{"model", coretest.Model, core.Config{Conduit: "loopback", Seed: 1}},
		{"native/many", coretest.Goroutines, core.Config{Conduit: "loopback", Profile: "native", Sleep: 1}},
		{"native/model", coretest.Model, core.Config{Conduit: "loopback", Profile: "native", Seed: 1}},
		{"checked/many", coretest.Goroutines, core.Config{Conduit: "checked-loopback", Profile: "native"}},
		{"checked/model", coretest.Model, core.Config{Conduit: "checked-loopback", Profile: "native", Seed: 1}},
		{"adverse/many", coretest.Goroutines, core.Config{Conduit: "adverse-loopback", Profile: "native", Sleep: 1}},
		{"adverse/model", coretest.Model, core.Config{Conduit: "adverse-loopback", Profile: "native", Seed: 1}},
		{"lent", coretest.Goroutines, core.Config{Conduit: "lent-loopback", Threads: core.Single}},
	} {
		t.Run(c.name, func(t *testing.T) { coretest.Run(t, c.l, c.cfg) })
	}
}

// TestOneSided runs the cases of one-sided operations where there is little room for them, and
// small and large ones are declined.
func TestOneSided(t *testing.T) {
	scarce := map[string]string{"operations": "1", "native-least": "9", "native-most": "1000"}
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"single", coretest.Goroutines, core.Config{Threads: core.Single}},
		{"narrow", coretest.Goroutines, core.Config{Threads: core.Many, Sleep: 1, Settings: scarce}},
		{"narrow/model", coretest.Model, core.Config{Settings: scarce}},
	} {
		c.cfg.Conduit, c.cfg.Profile = "loopback", "native"
		for _, x := range coretest.Cases() {
			if strings.Contains(x.Name, "one-sided") {
				t.Run(c.name+"/"+x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		}
	}
}
