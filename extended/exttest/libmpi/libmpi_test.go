// Package libmpi_test runs the suite of the Extended API over the MPI libraries of this host.
package libmpi_test

import (
	"os"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
)

func TestMain(m *testing.M) {
	coretest.RankMain(libmpitest.Connect, exttest.Cases()...)
	os.Exit(libmpitest.Main(m))
}

// TestExtended runs shares of the suite, with ranks that each library's launcher starts and that share their
// segments; by messages, as between hosts, what moves data; and with the library's own collective
// operations what there is about collectives and teams. All algorithms of collectives are compared
// over quicker networks.
func TestExtended(t *testing.T) {
	cases := slices.DeleteFunc(exttest.Cases(), coretest.Groups("forced"))
	libmpitest.Suite(t, cases, []libmpitest.Setting{
		{Name: "reach", Share: 2},
		{Name: "messages", Share: 3, Config: core.Config{Settings: map[string]string{"rma": "off"}}, Only: coretest.Groups("put", "get", "atomic", "order", "vis", "collective", "typed")},
		{Name: "collectives", Share: 3, Config: core.Config{Settings: map[string]string{"collectives": "native"}}, Only: coretest.Groups("team", "barrier", "collective", "typed", "progress", "native")},
	}...)
}

// TestExtendedOverHosts runs the cases of four ranks, of which two are near each other.
func TestExtendedOverHosts(t *testing.T) {
	cases := slices.DeleteFunc(exttest.Cases(), coretest.Groups("forced"))
	libmpitest.SuiteOverHosts(t, cases, "atomic/tickets", "barrier/names", "collective/mixed", "split/all-to-one")
}
