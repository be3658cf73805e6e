package exttest_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(m.Run())
}

// TestExtended runs the suite over every kind of path: direct reach, active messages
// between processes, between goroutines, under debug checks, and in virtual time. The
// packages below this one run it over other networks.
func TestExtended(t *testing.T) {
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"sci/processes/reach", spawntest.Processes, core.Config{Conduit: "sci"}},
		{"sci/processes/messages", spawntest.Processes, core.Config{Conduit: "sci", NoReach: true, Threads: core.Single}},
		{"sci/goroutines/reach", coretest.Goroutines, core.Config{Conduit: "sci", Threads: core.Single, Debug: true}},
		{"sci/paper/messages", coretest.Goroutines, core.Config{Conduit: "sci", Profile: "paper"}},
		{"loopback/goroutines", coretest.Goroutines, core.Config{Conduit: "loopback"}},
		{"loopback/model", coretest.Model, core.Config{Conduit: "loopback", Debug: true}},
		{"loopback/native/goroutines", coretest.Goroutines, core.Config{Conduit: "loopback", Profile: "native"}},
		{"loopback/native/single", coretest.Goroutines, core.Config{Conduit: "loopback", Profile: "native", Threads: core.Single, Debug: true}},
		{"loopback/native/model", coretest.Model, core.Config{Conduit: "loopback", Profile: "native"}},
		// Little room, transfers in many parts, and small ones and ends by messages.
		{"loopback/native/narrow", coretest.Goroutines, core.Config{
			Conduit: "loopback", Profile: "native", Sleep: 1,
			Settings: map[string]string{"operations": "2", "native-least": "10", "native-most": "1000"},
		}},
		{"loopback/native/narrow/model", coretest.Model, core.Config{
			Conduit: "loopback", Profile: "native",
			Settings: map[string]string{"operations": "1", "native-least": "10", "native-most": "1000"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
