package libmpi_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

func TestMain(m *testing.M) {
	coretest.RankMain(libmpitest.Connect, computing)
	if role, ok := os.LookupEnv(roleEnv); ok {
		os.Unsetenv(roleEnv)
		roles[role]()
		os.Exit(0)
	}
	os.Exit(libmpitest.Main(m))
}

// scarce has one of everything, so that nothing moves but by what the rules promise.
var scarce = map[string]string{
	"depth": "1", "packet": "512", "packets": "2", "receives": "1", "stages": "1", "mediums": "1", "medium": "512", "long": "8192", "rma": "off",
}

// traffic are the groups of cases that say something about buffers and completions.
var traffic = []string{"message", "flood", "order", "barrier", "negotiation", "reply", "group"}

func TestConformance(t *testing.T) {
	some, collective := coretest.Groups(traffic...), coretest.Groups("collective")
	// MPICH touches all of a window when it makes one, so the largest takes the host's memory.
	cases := slices.DeleteFunc(coretest.Cases(), func(c *coretest.Case) bool { return c.Name == "attach/largest-segment" || c.Name == "segment/largest" })
	libmpitest.Suite(t, cases, []libmpitest.Setting{
		// What a Poll handles at most is counted by the conduit, over any network; 20 ranks take the libraries long.
		// Of the death of a rank mpiexec lets no other say anything: it ends them at once.
		{Name: "many", Config: core.Config{Threads: core.Many}, Only: func(c *coretest.Case) bool {
			return c.Name != "wait/budget" && c.Name != "kill/contexts-parked"
		}},
		{Name: "single", Config: core.Config{Threads: core.Single, Sleep: 1, Settings: map[string]string{"pack": "off", "service": "off"}}, Only: some},
		{Name: "scarce", Config: core.Config{Threads: core.Many, Settings: scarce}, Only: some},
		{Name: "collectives", Config: core.Config{Threads: core.Many, Settings: map[string]string{"collectives": "native"}}, Only: collective},
		{Name: "messages", Config: core.Config{Threads: core.Many, Settings: map[string]string{"rma": "off"}}, Only: some},
		// What is longer than MPI sends eagerly must not be needed to be eager.
		{Name: "large-packets", Config: core.Config{Threads: core.Many, Settings: map[string]string{"packet": "65536", "eager": "65536", "rma": "off"}}, Only: some},
	}...)
}

// Between hosts what is near goes by memory and what is far by messages.
func TestConformanceOverHosts(t *testing.T) {
	libmpitest.SuiteOverHosts(t, coretest.Cases(), "message/payload", "flood/all-to-all", "barrier/serves", "collective/operations")
}

// Ranks that are started each for itself are not taken for a job of several.
func TestSingletons(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			libmpitest.Launcher(t, library)
			status, out := ranks(t, 2, nil, "attach", library)
			if status != 1 || !strings.Contains(out, "do not fit together") {
				t.Errorf("status %d\n%s", status, out)
			}
		})
	}
}

// A launcher starts ranks that use the library of another.
func TestWrongLauncher(t *testing.T) {
	for i, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			other := libmpitest.Libraries[1-i]
			libmpitest.Launcher(t, library)
			libmpitest.Launcher(t, other)
			starter, err := libmpi.Starter(other, 2, false)
			if err != nil {
				t.Fatal(err)
			}
			status, out := ranks(t, 2, starter, "attach", library)
			if status != 1 || !strings.Contains(out, "use profile "+other) {
				t.Errorf("status %d\n%s", status, out)
			}
		})
	}
}
