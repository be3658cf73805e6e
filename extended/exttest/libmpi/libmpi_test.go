// Package libmpi_test runs the suite of the Extended API over the MPI libraries of this host.
package libmpi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(libmpitest.Main(m))
}

// TestExtended runs the suite, with ranks that each library's launcher starts. All algorithms of
// collectives are compared over quicker networks.
func TestExtended(t *testing.T) {
	var cases []*coretest.Case
	for _, c := range exttest.Cases() {
		if !strings.HasPrefix(c.Name, "forced/") {
			cases = append(cases, c)
		}
	}
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) { libmpitest.Run(t, library, core.Config{}, cases) })
	}
}
