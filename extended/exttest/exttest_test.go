package exttest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func init() {
	core.Register(coretest.Checked("sci"))
	core.Register(coretest.Checked("loopback"))
	core.Register(coretest.Adverse("loopback"))
}

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(m.Run())
}

// TestExtended runs the suite over every kind of path: direct reach, active messages
// between processes, between goroutines, under debug checks, and in virtual time. The
// packages below this one run it over other networks.
func TestExtended(t *testing.T) {
	live, model := coretest.Goroutines, coretest.Model
	kinds := []coretest.Kind{
		{Name: "sci/processes/reach", Launcher: spawntest.Processes, Config: core.Config{Conduit: "sci"}},
		{Name: "sci/processes/messages", Launcher: spawntest.Processes, Config: core.Config{Conduit: "sci", NoReach: true, Threads: core.Single}},
		{Name: "sci/goroutines/reach", Launcher: live, Config: core.Config{Conduit: "sci", Threads: core.Single, Debug: true}},
		{Name: "sci/paper/messages", Launcher: live, Config: core.Config{Conduit: "sci", Profile: "paper"}, Factors: "sci goroutines messages"},
		{Name: "loopback/goroutines", Launcher: live, Config: core.Config{Conduit: "loopback"}, Factors: "loopback goroutines messages", AllSizes: true},
		{Name: "loopback/model", Launcher: model, Config: core.Config{Conduit: "loopback", Debug: true}, Factors: "loopback model messages"},
		{Name: "loopback/native/goroutines", Launcher: live, Config: native(nil), Factors: "loopback goroutines native"},
		{Name: "loopback/native/single", Launcher: live, Config: core.Config{Conduit: "loopback", Profile: "native", Threads: core.Single, Debug: true}, Factors: "loopback goroutines native"},
		{Name: "loopback/native/model", Launcher: model, Config: native(nil), Factors: "loopback model native"},
		// Little room, transfers in many parts, and small ones and ends by messages.
		{Name: "loopback/native/narrow", Launcher: live, Factors: "loopback goroutines native", Config: core.Config{
			Conduit: "loopback", Profile: "native", Sleep: 1,
			Settings: map[string]string{"operations": "2", "native-least": "10", "native-most": "1000"},
		}},
		{Name: "loopback/native/narrow/model", Launcher: model, Factors: "loopback model native",
			Config: native(map[string]string{"operations": "1", "native-least": "10", "native-most": "1000"})},
		// Conduits that pass on the powers of another one.
		{Name: "sci/checked", Launcher: live, Config: core.Config{Conduit: "checked-sci"}, Factors: "sci goroutines reach"},
		{Name: "loopback/native/checked", Launcher: live, Config: core.Config{Conduit: "checked-loopback", Profile: "native"}, Factors: "loopback goroutines native"},
		{Name: "loopback/native/adverse", Launcher: live, Config: core.Config{Conduit: "adverse-loopback", Profile: "native"}, Factors: "loopback goroutines native"},
	}
	// There are more kinds than paths. Of those that have something between job and network, or little room, what takes
	// long belongs to the rest: algorithms of collectives, which know no network, and a great many transfers, and two of three of the others.
	long := func(c *coretest.Case) bool {
		return coretest.Groups("forced")(c) || slices.Contains([]string{"allocation/large", "vis/put", "vis/get"}, c.Name)
	}
	for i := range kinds {
		if k := &kinds[i]; slices.Contains(strings.Split(k.Name, "/"), "narrow") || strings.HasSuffix(k.Name, "/checked") || strings.HasSuffix(k.Name, "/adverse") || strings.HasSuffix(k.Name, "/single") {
			k.Rest, k.Share = long, 3
		}
	}
	coretest.Suite(t, exttest.Cases(), kinds...)
}

// native is a configuration over a network with operations of its own.
func native(settings map[string]string) core.Config {
	return core.Config{Conduit: "loopback", Profile: "native", Settings: settings}
}
