package exttest_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
)

// TestExtendedOverLibraries runs the suite over the MPI libraries of this host. All algorithms of
// collectives are compared over quicker networks.
func TestExtendedOverLibraries(t *testing.T) {
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
