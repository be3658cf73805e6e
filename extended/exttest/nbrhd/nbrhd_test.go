// Package nbrhd_test runs the suite of the Extended API where some ranks are near and others far.
package nbrhd_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/nbrhd"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(m.Run())
}

// TestExtended has hosts of two ranks: the near ones reach each other, the far ones send messages, or
// have a network that moves data itself.
func TestExtended(t *testing.T) {
	blocks := map[string]string{"block": "2"}
	coretest.Suite(t, exttest.Cases(),
		coretest.Kind{Name: "processes", Share: 2, Launcher: spawntest.Processes, Config: core.Config{Conduit: "nbrhd", Profile: "sci+udp", Settings: blocks}},
		coretest.Kind{Name: "goroutines", Share: 3, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "nbrhd", Profile: "sci+loopback/native", Threads: core.Single, Debug: true, Settings: blocks}})
}
