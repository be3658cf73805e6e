// Package mpi_test runs the suite of the Extended API over two-sided message passing.
package mpi_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	_ "github.com/aqueduct-go/aqueduct/conduits/mpi/scampi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// overTest is the conduit over networks of this process.
const overTest = "mpi over mpitest"

func init() {
	mpi.Register(overTest,
		mpitest.Network("unruly", mpitest.Options{Unruly: true}),
		mpitest.Network("model", mpitest.Options{Model: true, Latency: vtime.Microsecond, Rate: 1e9, Search: 5 * vtime.Nanosecond}))
}

// TestExtended runs shares of the suite over networks of this process and over the modelled ScaMPI.
func TestExtended(t *testing.T) {
	// Algorithms of collectives know no network, and a quarter of a million messages take long: one kind has them, and the rest.
	long := func(c *coretest.Case) bool { return coretest.Groups("forced")(c) || c.Name == "event/many" }
	kinds := []coretest.Kind{
		{Name: "goroutines", Launcher: coretest.Goroutines, Config: core.Config{Conduit: overTest, Profile: "unruly"}, Factors: "live"},
		{Name: "packed", Launcher: coretest.Goroutines, Factors: "live", Rest: long,
			Config: core.Config{Conduit: overTest, Profile: "unruly", Threads: core.Single, Settings: map[string]string{"pack": "all"}}},
		{Name: "model", Launcher: coretest.Model, Config: core.Config{Conduit: overTest, Profile: "model", Debug: true}, Factors: "model", Rest: long},
		{Name: "scampi", Launcher: coretest.Model, Config: core.Config{Conduit: "mpi", Profile: "scampi", Debug: true}, Factors: "model",
			// ScaMPI is modelled burst by burst. A quarter of a million messages take it long, and so
			// do all algorithms of collectives, which know no network. For the race detector there is
			// nothing in one logical thread.
			Only: func(c *coretest.Case) bool {
				return c.Name != "event/many" && !strings.HasPrefix(c.Name, "forced/") && !shm.RaceEnabled
			}},
	}
	for i := range kinds {
		kinds[i].Share = 4
	}
	coretest.Suite(t, exttest.Cases(), kinds...)
}
