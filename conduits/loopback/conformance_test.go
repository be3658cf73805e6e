package loopback_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
)

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
	} {
		t.Run(c.name, func(t *testing.T) { coretest.Run(t, c.l, c.cfg) })
	}
}
