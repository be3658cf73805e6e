package spawntest_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/nbrhd"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect)
	os.Exit(m.Run())
}

// suite is the cases that say something about how ranks meet, share memory and end, by conduit.
var suite = map[string]func(*coretest.Case) bool{
	"sci": coretest.Groups("attach", "exit", "segment", "group"),
	"udp": coretest.Groups("attach", "exit", "group"),
}

func TestStatic(t *testing.T) {
	var kinds []coretest.Kind
	for _, conduit := range slices.Sorted(maps.Keys(suite)) {
		kinds = append(kinds, coretest.Kind{
			Name: "static/" + conduit, Launcher: spawntest.Static(false), Factors: "static " + conduit,
			Config: core.Config{Conduit: conduit, Segment: "1MB"}, Only: suite[conduit],
		})
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}

// Ranks of several hosts, some of which have neighbours.
func TestStaticApart(t *testing.T) {
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("needs root that may make namespaces: unshare --mount: %v", err)
	}
	coretest.Suite(t, coretest.Cases(), coretest.Kind{
		Name: "static/apart", Launcher: spawntest.Static(true), Factors: "static apart",
		Config: core.Config{Conduit: "udp", Segment: "1MB"}, Only: suite["udp"],
	})
}
